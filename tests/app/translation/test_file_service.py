import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from itertools import islice, product

import httpx
import pytest

from app import loading
from app.scheduling.engine_state import BULK_ROWS, BULK_ROWS_IN_COMPANY
from app.translation import windows
from app.translation.block import Block
from app.translation.file_service import translated_name
from app.translation.segments import layout
from tests.app.asking import scheduler
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.waiting import until

TO_FRENCH = {"source": "en", "target": "fr"}


async def send(client: httpx.AsyncClient, text: str) -> httpx.Response:
    return await client.post(
        "/translate_file", files={"file": ("a.txt", text.encode())}, data=TO_FRENCH,
        headers={"Accept": "application/octet-stream"},
    )  # fmt: skip


def test_a_translation_is_called_after_its_language() -> None:
    assert translated_name("report.docx", "fr") == "report.fr.docx"
    assert translated_name("a.b.MD", "pt-BR") == "a.b.pt-BR.MD"


async def test_the_rest_of_a_file_counts_in_forecasts_and_in_a_full_queue(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_QUEUE_TOKENS", 5000)
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, sentence_cache_bytes=0) as client:
        lines = "".join(f"The cat sees dog {n}.\n" for n in range(1000))
        file = asyncio.create_task(send(client, lines))
        load = scheduler(client)
        await until(lambda: load.load.waiting + load.load.in_flight >= 2 * layout.PART_SENTENCES)
        assert load.load.waiting + load.load.in_flight == 2 * layout.PART_SENTENCES
        assert load._n_pending > 5000
        body = {"text": "The cat sees the dog.\n" * 200, "target": "fr", "beam_size": 1}
        refused = await client.post("/translate", json=body)
        assert refused.status_code == httpx.codes.TOO_MANY_REQUESTS
        engine.release(100_000)
        assert (await file).status_code == httpx.codes.OK
        assert (await client.post("/translate", json=body)).status_code == httpx.codes.OK


async def test_equal_texts_are_translated_once(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine()
    read: list[str] = []
    make = Block.__init__

    def note(block: Block, text: str, *args: object, **fields: object) -> None:
        read.append(text)
        make(block, text, *args, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(Block, "__init__", note)
    async with serve(engine, sentence_cache_bytes=0) as client:
        read.clear()
        answer = await send(client, "The cat.\nA dog.\nThe cat.\n" * 100)
    assert answer.text.count("\n") == 300
    assert sorted(read) == ["A dog.", "The cat."]


async def test_windows_of_a_file_change_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"The cat {n}. A {{name}} dog sleeps.\n\n" for n in range(20))
    async with serve(FakeEngine()) as client:
        whole = await send(client, text)
        for module in (layout, windows):
            monkeypatch.setattr(module, "PART_SENTENCES", 2)
        assert (await send(client, text)).content == whole.content


def as_lines(texts: Sequence[str]) -> str:
    return "\n".join(texts)


def as_catalogue(texts: Sequence[str]) -> str:
    return "\n\n".join(f'msgid "{text}"\nmsgstr ""' for text in texts)


def as_subtitles(texts: Sequence[str]) -> str:
    times = "00:00:01,000 --> 00:00:02,000"
    return "\n\n".join(f"{number}\n{times}\n{text}" for number, text in enumerate(texts, start=1))


FILES: dict[str, Callable[[Sequence[str]], str]] = {
    ".txt": as_lines, ".po": as_catalogue, ".srt": as_subtitles, ".json": json.dumps,
}  # fmt: skip
BEAM_SIZE = 2  # of the checkpoint
WORDS = [
    "the",
    "cat",
    "dog",
    "house",
    "tree",
    "green",
    "old",
    "small",
    "sees",
    "likes",
    "sleeps",
    "here",
]


@pytest.mark.parametrize("suffix", FILES)
async def test_many_short_texts_are_searched_once_each_in_full_batches(
    serve: Serve, suffix: str
) -> None:
    """Work is counted, not timed: 20,000 take twenty times what 1,000 take."""
    n_texts = 1000
    engine = FakeEngine()
    texts = [" ".join(words) + "." for words in islice(product(WORDS, repeat=4), n_texts)]
    async with serve(engine, sentence_cache_bytes=0) as client:
        engine.admitted.clear()
        file = {"file": ("a" + suffix, FILES[suffix](texts).encode())}
        headers = {"Accept": "application/octet-stream"}
        answer = await client.post("/translate_file", files=file, data=TO_FRENCH, headers=headers)
        assert answer.status_code == httpx.codes.OK, answer.text
    searched = [name for batch in engine.admitted for name in batch]
    assert len(searched) == n_texts
    n_rows = n_texts * BEAM_SIZE  # half as many beside recent single sentences
    assert n_rows / BULK_ROWS <= len(engine.admitted) <= n_rows / BULK_ROWS_IN_COMPANY + 1
