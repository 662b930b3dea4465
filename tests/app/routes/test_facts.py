"""Facts are preserved in requests, streams, files, pivots and other services' dialects."""

import io
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.app.asking import answered
from tests.app.conftest import Serve
from tests.app.documents.word_xml import run, word_file
from tests.app.garbling_engine import GarblingEngine, incremented, no_digits, one_number
from tests.app.routes.test_files import send
from tests.app.routes.test_translate_stream import streamed, streamed_text

TEXT = "The cat sees 42 dogs at 10."
EN_FR = {"source": "en", "target": "fr"}


@pytest.fixture
def engine(tiny_checkpoint: Path) -> Callable[..., GarblingEngine]:
    return partial(GarblingEngine, folder=tiny_checkpoint)


async def test_numbers_are_corrected_or_flagged_with_their_spans(
    serve: Serve, engine: Callable[..., GarblingEngine]
) -> None:
    async with serve(engine()) as client:
        [mended] = (await answered(client, text=TEXT, **EN_FR))["translations"]
    async with serve(engine(garbled=no_digits)) as client:
        text = f"A dog. {TEXT} It is 7."
        [lost] = (await answered(client, text=text, alignment=True, **EN_FR))["translations"]
        [plain] = (await answered(client, text=text, **EN_FR))["translations"]
    assert (mended["text"], "numbers" in mended["flags"]) == (TEXT, False)
    assert "numbers" in lost["flags"]
    assert (plain["text"], plain["flags"]) == (lost["text"], lost["flags"])
    first, second, third = lost["segments"]
    assert "faults" not in first
    for segment, numbers in ((second, ["42", "10"]), (third, ["7"])):
        [fault] = segment["faults"]
        assert fault["flag"] == "numbers"
        assert [text[start:end] for start, end in fault["source"]] == numbers
        assert fault["target"] == []


async def test_a_span_is_right_far_into_the_text_too(
    serve: Serve, engine: Callable[..., GarblingEngine]
) -> None:
    text = "The cat. " * 200 + "The dog sees 42 cats."
    async with serve(engine(garbled=one_number)) as client:
        [answer] = (await answered(client, text=text, alignment=True, **EN_FR))["translations"]
    [fault] = answer["segments"][-1]["faults"]
    assert [text[start:end] for start, end in fault["source"]] == ["42"]
    assert [answer["text"][start:end] for start, end in fault["target"]] == ["43"]


async def test_a_stream_has_what_the_answer_has(
    serve: Serve, engine: Callable[..., GarblingEngine]
) -> None:
    async with serve(engine()) as client:
        *events, (name, answer) = await streamed(client, text=[TEXT, "A dog."], **EN_FR)
    assert name == "done"
    assert [streamed_text(events, index) for index in range(2)] == [TEXT, "A dog."]
    assert [one["text"] for one in answer["translations"]] == [TEXT, "A dog."]
    async with serve(engine(garbled=one_number)) as client:
        *events, (_, answer) = await streamed(client, text=TEXT, **EN_FR)
    assert streamed_text(events, 0) == answer["translations"][0]["text"] == one_number(TEXT)
    assert "numbers" in answer["translations"][0]["flags"]


FILES: dict[str, bytes] = {
    "a.txt": f"{TEXT}\n".encode(),
    "a.html": b"<p>The <b>cat</b> sees 42 dogs at&nbsp;10.</p>",
    "a.xml": b"<r>The <b>cat</b> sees 42 dogs at&#160;10.</r>",
    "a.md": f"# {TEXT}\n".encode(),
    "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{TEXT}\n".encode(),
    "a.po": f'msgid "{TEXT}"\nmsgstr ""\n'.encode(),
    "a.json": b'{"key": "%s"}' % TEXT.encode(),
    "a.docx": word_file(run(TEXT)),
}


@pytest.mark.parametrize("name", FILES)
async def test_files_have_the_right_numbers(
    serve: Serve, engine: Callable[..., GarblingEngine], name: str
) -> None:
    async with serve(engine()) as client:
        data = (await send(client, name, FILES[name], "application/octet-stream")).content
    if name.endswith(".docx"):
        data = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml")
    assert b"42" in data
    assert b"10." in data
    assert not {b"43", b"11."} & set(data.split())


DIALECTS: dict[str, dict[str, Any]] = {
    "/translate": {"q": TEXT} | EN_FR,
    "/v2/translate": {"text": [TEXT], "target_lang": "FR"},
    "/language/translate/v2": {"q": TEXT, "format": "text"} | EN_FR,
    "/translate_a/t": {"q": [TEXT], "sl": "en", "tl": "fr"},
    "/translate_a/single": {"q": TEXT, "sl": "en", "tl": "fr"},
    "/v1/chat/completions": {
        "model": "attend-fr",
        "messages": [{"role": "user", "content": TEXT}],
    },
    "/hcfy": {"text": TEXT, "source": "英语", "destination": ["法语"]},
    "/kiss": {"text": TEXT, "from": "en", "to": "fr"},
    "/deeplx": {"text": TEXT, "source_lang": "EN", "target_lang": "FR"},
    "/imme": {"text_list": [TEXT], "source_lang": "en", "target_lang": "fr"},
}


@pytest.mark.parametrize("path", DIALECTS)
async def test_other_services_clients_get_the_corrected_text(
    serve: Serve, engine: Callable[..., GarblingEngine], path: str
) -> None:
    sent: dict[str, Any] = {"data" if "translate_a" in path else "json": DIALECTS[path]}
    async with serve(engine()) as client:
        right = await client.post(path, **sent)
    async with serve(engine(garbled=one_number)) as client:
        wrong = await client.post(path, **sent)
    assert (right.status_code, wrong.status_code) == (200, 200)
    assert "42 dogs" in right.text
    assert "43 dogs" not in right.text
    assert "43 dogs" in wrong.text  # else the test could not fail


@pytest.mark.parametrize(
    ("first", "second", "is_right"),
    [
        (incremented, incremented, True),  # both are corrected
        (no_digits, str, False),
        (str, no_digits, False),
        (no_digits, one_number, False),
    ],
)
async def test_a_pivot_is_compared_with_the_first_text(
    serve: Serve,
    row_of_checkpoints: tuple[Path, Path],
    first: Callable[[str], str],
    second: Callable[[str], str],
    is_right: bool,
) -> None:
    engines = [
        GarblingEngine(folder=folder, garbled=garbled)
        for folder, garbled in zip(row_of_checkpoints, (first, second), strict=True)
    ]
    text = "A dog. The cat sees 242 dogs at 310."
    async with serve(*engines, checkpoint=row_of_checkpoints) as client:
        answer = await answered(client, text=text, source="fr", target="de")
    [translation] = answer["translations"]
    assert translation["pivot"] == "en"
    assert (translation["text"] == text) == is_right
    assert ("numbers" in translation["flags"]) != is_right


async def test_a_glossarys_alternatives_keep_the_numbers_too(
    serve: Serve, engine: Callable[..., GarblingEngine]
) -> None:
    body: dict[str, Any] = {"text": TEXT, "glossary": {"dogs": "chiens"}, **EN_FR}
    async with serve(engine()) as client:
        [translation] = (await answered(client, **body))["translations"]
    assert "42" in translation["text"]
