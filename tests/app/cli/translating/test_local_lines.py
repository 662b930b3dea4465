from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Finished
from model.errors import InputError
from model.translator import Translator
from tests.app.conftest import Client
from tests.app.fake_engine import FakeEngine

LINES = [
    "The dog. The cat!",
    "",
    "- the {name} cat sees https://x.org/a, today {{n}}",
    "42 %",
    "the old cat sees the house, " * 12,
    "the cat",
]


def lines_of(loaded: Checkpoint) -> Callable[[str], SegmentedText]:
    max_length = loaded.config.transformer.max_length
    reading = Reading(loaded.tokenizer, ("en", "fr"), max_length, SearchOptions(beam_size=2))
    return partial(SegmentedText, reading=reading)


@pytest.fixture
def translator(tiny_checkpoint: Path) -> Translator[SegmentedText]:
    loaded = load_checkpoint(tiny_checkpoint)
    engines = [FakeEngine(n_steps=2), FakeEngine(n_slots=1)]
    return Translator(lines_of(loaded), engines)


async def test_lines_equal_the_servers(
    client: Client, translator: Translator[SegmentedText]
) -> None:
    texts = list(translator.stream([*LINES, None]))
    assert [text.text for text in texts] == LINES
    response = await client.post("/translate", json={"text": LINES, "target": "fr"})
    assert response.status_code == httpx.codes.OK
    for text, served in zip(texts, response.json()["translations"], strict=True):
        assert text.answer().after == served["text"]
        assert text.score() == pytest.approx(served["score"])
        assert text.flags == served["flags"]
    assert "{name}" in texts[2].answer().after


def test_everything_before_a_pause_is_handed_out(translator: Translator[SegmentedText]) -> None:
    out: list[str] = []

    def lines() -> Iterator[str | None]:
        for line in LINES:
            yield line
            yield None
            assert out[-1:] == [line]

    for text in translator.stream(lines()):
        out.append(text.text)  # noqa: PERF401  (the lines look at it meanwhile)
    assert out == LINES


def test_earlier_lines_precede_an_input_error(translator: Translator[SegmentedText]) -> None:
    def lines() -> Iterator[str]:
        yield from LINES
        raise InputError("line 7: too long")

    out = iter(translator.stream(lines()))
    assert [next(out).text for _ in LINES] == LINES
    with pytest.raises(InputError, match="line 7"):
        next(out)


class FailingEngine(FakeEngine):
    """Every sentence fails."""

    def step(self) -> list[Finished]:
        return [Finished(index, ValueError("poison")) for index, _ in super().step()]


def test_an_error_of_a_sentence_is_raised(tiny_checkpoint: Path) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    translator = Translator(lines_of(loaded), [FailingEngine()])
    with pytest.raises(ValueError, match="poison"):
        list(translator.stream(["cat"]))
