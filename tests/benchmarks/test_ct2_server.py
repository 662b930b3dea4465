import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx

from benchmarks.ct2_server import MAX_BATCH, MicroBatcher, create_app
from model.checkpoint.reader import load_checkpoint
from tests.app.waiting import until


@dataclass
class FakeTranslator:
    """Returns the pieces without the first and last; each batch waits until it is released."""

    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1000))
    batches: list[list[list[str]]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def translate_batch(self, sources: list[list[str]], **options: Any) -> list[Any]:
        self.batches.append(sources)
        self.options = options
        assert self.gate.acquire(timeout=60)
        if ["poison"] in sources:
            raise ValueError("poison")
        return [SimpleNamespace(hypotheses=[source[1:-1]]) for source in sources]


def run_with(batcher: MicroBatcher, work: Coroutine[Any, Any, Any]) -> Any:
    async def both() -> Any:
        running = asyncio.create_task(batcher.run())
        try:
            return await work
        finally:
            running.cancel()

    return asyncio.run(both())


async def ask_all(batcher: MicroBatcher, sources: list[list[str]]) -> list[Any]:
    responses = (batcher.translate(source) for source in sources)
    return await asyncio.gather(*responses, return_exceptions=True)


def test_concurrent_requests_form_batches_up_to_the_maximum() -> None:
    translator = FakeTranslator()
    batcher = MicroBatcher(translator, 1, {"beam_size": 3})
    sources = [["<", str(index), ">"] for index in range(MAX_BATCH + 6)]
    assert run_with(batcher, ask_all(batcher, sources)) == [source[1:-1] for source in sources]
    assert [len(batch) for batch in translator.batches] == [MAX_BATCH, 6]
    assert translator.options == {"beam_size": 3, "max_decoding_length": 53}


def test_requests_that_wait_for_a_worker_form_the_next_batch() -> None:
    translator = FakeTranslator(gate=threading.Semaphore(0))
    batcher = MicroBatcher(translator, 1, {})

    async def work() -> list[Any]:
        tasks = []
        for index in range(4):
            tasks.append(asyncio.create_task(batcher.translate([str(index)])))
            await until(lambda: len(translator.batches) == 1)
        translator.gate.release(10)
        return await asyncio.gather(*tasks)

    run_with(batcher, work())
    assert [len(batch) for batch in translator.batches] == [1, 3]


def test_two_workers_have_two_batches_at_a_time() -> None:
    translator = FakeTranslator(gate=threading.Semaphore(0))
    batcher = MicroBatcher(translator, 2, {})

    async def work() -> None:
        tasks = []
        for index in range(2):
            tasks.append(asyncio.create_task(batcher.translate([str(index)])))
            await until(lambda n=index + 1: len(translator.batches) == n)  # type: ignore[misc]
        translator.gate.release(10)
        await asyncio.gather(*tasks)

    run_with(batcher, work())


def test_an_error_fails_its_batch_only() -> None:
    batcher = MicroBatcher(FakeTranslator(), 1, {})

    async def work() -> list[Any]:
        failed = await ask_all(batcher, [["poison"], ["a"]])
        return failed + await ask_all(batcher, [["<", "b", ">"]])

    first, second, third = run_with(batcher, work())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert third == ["b"]


def test_the_app_tokenises_as_attend_does(tiny_checkpoint: Path) -> None:
    translator = FakeTranslator()
    batcher = MicroBatcher(translator, 1, {})
    app = create_app(batcher, tiny_checkpoint)

    async def work() -> Any:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            assert (await client.get("/readyz")).status_code == httpx.codes.OK
            return (await client.post("/translate", json={"text": "The dog."})).json()

    answer = run_with(batcher, work())
    assert answer == {"translations": [{"text": "The dog."}]}
    tokenizer = load_checkpoint(tiny_checkpoint).tokenizer
    pieces = [token.piece for token in tokenizer.encode_source("The dog.", "fr")]
    assert translator.batches == [[[">>fr<<", *pieces[1:]]]]
