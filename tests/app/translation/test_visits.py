"""A request of any kind visits each stage once with each of its texts."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.languages import detection
from app.text.markup.document import MarkupDocument
from app.translation.segments import layout
from app.translation.segments.reading import Reading
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.text.tokenizer import Tokenizer
from model.translator import Translator
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine

TEXT = "The old cat sees {name}. The dog sleeps."
PAGE = "<p>The <b>old</b> cat sees.</p><p>The dog <i>sleeps</i></p>"
EN_FR = {"source": "en", "target": "fr", "beam_size": 1}  # hypotheses of a fake engine are equal


class Visits(Counter[tuple[str, object]]):
    """Counts of calls by stage and argument."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._patch = patch
        self._alive: list[object] = []

    def watch(self, owner: object, name: str, stage: str, given: Callable[..., object]) -> None:
        """Count the calls of a function or method, by the value of `given` for its arguments."""
        work = getattr(owner, name)

        def counted(*args: Any, **keywords: Any) -> Any:
            self._alive.append(args)  # so that ids are unique
            self[stage, given(*args)] += 1
            return work(*args, **keywords)

        self._patch.setattr(owner, name, counted)


def itself(one: object, *_: object) -> object:
    return id(one)


def text(_: object, *given: object) -> object:
    return given


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> Visits:
    visits = Visits(monkeypatch)
    visits.watch(detection, "_beginning", "detect", lambda *texts: texts)
    visits.watch(MarkupDocument, "__init__", "lift markup", lambda _, page, *__: page)
    visits.watch(MarkupDocument, "with_translations", "put markup back", itself)
    visits.watch(layout, "each_segment", "segment", lambda given, *_: given)
    visits.watch(layout, "find_placeholders", "find placeholders", lambda given: given)
    visits.watch(Tokenizer, "source_ids", "tokenise", text)
    visits.watch(Tokenizer, "encode_source", "tokenise", text)
    visits.watch(Tokenizer, "decode", "detokenise", lambda _, ids: tuple(ids))
    visits.watch(Tokenizer, "decode_target", "detokenise", lambda _, ids: tuple(ids[:-1]))
    visits.watch(Segment, "settle", "settle", itself)
    visits.watch(Segment, "flags", "flags", itself)
    return visits


EVERY = {"find placeholders", "segment", "tokenise", "settle", "detokenise", "flags"}
MARKUP = {"lift markup", "put markup back"}


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ({"text": TEXT}, set()),
        ({"text": [TEXT, "A house."]}, set()),
        ({"text": TEXT, "source": "auto"}, {"detect"}),
        ({"text": PAGE, "format": "html"}, MARKUP),
        ({"text": PAGE, "format": "html", "source": "auto"}, {"detect", *MARKUP}),
        ({"text": TEXT, "alignment": True}, set()),
        ({"text": TEXT, "attention": True, "alignment": True}, set()),
        ({"text": TEXT, "stream": True}, set()),
        ({"text": PAGE, "format": "html", "stream": True}, MARKUP),
        ({"text": "Le chat. Un chien dort.", "source": "fr", "target": "de"}, set()),
        ({"text": PAGE, "format": "html", "source": "fr", "target": "de"}, MARKUP),
    ],
)
async def test_a_request_comes_to_each_stage_once(
    serve: Serve,
    row_of_checkpoints: tuple[Path, Path],
    visits: Visits,
    body: dict[str, Any],
    more: set[str],
) -> None:
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        visits.clear()
        response = await client.post("/translate", json=EN_FR | body)
        assert response.status_code == httpx.codes.OK, response.text
    assert {stage for stage, _ in visits} == EVERY | more
    assert {stage for (stage, _), n in visits.items() if n > 1} == set()


@pytest.mark.parametrize("target", ["fr", "de"])
async def test_a_file_comes_to_each_stage_once(
    serve: Serve, row_of_checkpoints: tuple[Path, Path], visits: Visits, target: str
) -> None:
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        visits.clear()
        page = f"{PAGE}<p>A cat at home. A house.</p>{PAGE}".encode()
        fields = {"source": "auto", "target": target}
        response = await client.post(
            "/translate_file", files={"file": ("a.html", page)}, data=fields
        )
        assert response.status_code == httpx.codes.OK, response.text
    assert {stage for stage, _ in visits} == {"detect", *EVERY, *MARKUP}
    assert {stage for (stage, _), n in visits.items() if n > 1} == set()


def test_a_line_comes_to_each_stage_once(tiny_checkpoint: Path, visits: Visits) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    reading = Reading(loaded.tokenizer, ("en", "fr"), 64, SearchOptions(beam_size=1))
    visits.clear()
    translator = Translator(partial(SegmentedText, reading=reading), [FakeEngine()])
    for line in translator.stream([TEXT, None]):
        assert line.answer().after
        assert line.flags is not None
    assert {stage for stage, _ in visits} == EVERY
    assert {stage for (stage, _), n in visits.items() if n > 1} == set()
