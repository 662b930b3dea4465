import asyncio
import threading

import httpx
import pytest

from app import loading
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
