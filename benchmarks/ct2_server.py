"""CTranslate2 int8 behind FastAPI with a micro-batcher, for comparison with attend's server.

A competent implementation: the same SentencePiece model, one queue, batches of up to 64 sentences
or 5 ms, whichever comes first, and no delay if the batch had to wait for a worker anyway.

    python -m benchmarks.ct2_server --model DIR --checkpoint DIR --port 8001
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import ctranslate2
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.peers import BEYOND_SOURCE, suppressed
from model.checkpoint.config import read_config
from model.checkpoint.reader import read_tokenizer

WINDOW = 0.005
MAX_BATCH = 64


@dataclass(frozen=True)
class QueuedSentence:
    """A sentence in the queue or in a batch."""

    pieces: list[str]
    answer: asyncio.Future[list[str]]
    arrived: float = field(default_factory=time.monotonic)


class MicroBatcher:
    """One queue, and as many concurrent batches as the translator has workers."""

    def __init__(self, translator: Any, workers: int, options: Mapping[str, Any]) -> None:
        self._translator = translator
        self._options = options
        self._queue: asyncio.Queue[QueuedSentence] = asyncio.Queue()
        self._pool = ThreadPoolExecutor(workers)
        self._free = asyncio.Semaphore(workers)
        self._batches: set[asyncio.Task[None]] = set()

    async def translate(self, pieces: list[str]) -> list[str]:
        waiting = QueuedSentence(pieces, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(waiting)
        return await waiting.answer

    async def run(self) -> None:
        while True:
            await self._free.acquire()
            task = asyncio.create_task(self._work(await self._next_batch()))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _next_batch(self) -> list[QueuedSentence]:
        batch = [await self._queue.get()]
        while len(batch) < MAX_BATCH:
            if not self._queue.empty():
                batch.append(self._queue.get_nowait())
                continue
            left = batch[0].arrived + WINDOW - time.monotonic()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(left):
                    batch.append(await self._queue.get())
            except TimeoutError:
                break
        return batch

    async def _work(self, batch: list[QueuedSentence]) -> None:
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._pool, self._translate, batch)
        except Exception as error:
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
        else:
            for waiting, result in zip(batch, results, strict=True):
                if not waiting.answer.done():
                    waiting.answer.set_result(result.hypotheses[0])
        finally:
            self._free.release()

    def _translate(self, batch: list[QueuedSentence]) -> Any:
        sources = [waiting.pieces for waiting in batch]
        return self._translator.translate_batch(
            sources, max_decoding_length=max(map(len, sources)) + BEYOND_SOURCE, **self._options
        )


class Request(BaseModel):
    """The required fields of attend's request."""

    text: str


def create_app(batcher: MicroBatcher, checkpoint: Path) -> FastAPI:
    """Serve POST /translate as attend does, in the checkpoint's first direction, and /readyz."""
    config = read_config(checkpoint)
    tokenizer = read_tokenizer(checkpoint, config)
    _, target = config.directions[0]
    symbol = f">>{target}<<"

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(batcher.run())
        yield
        task.cancel()

    id_of = {tokenizer.piece(index): index for index in range(tokenizer.target_vocab_size)}
    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def translate(request: Request) -> dict[str, object]:
        _, *pieces = map(tokenizer.piece, tokenizer.source_ids(request.text, target))
        found = await batcher.translate([symbol, *pieces])
        text = tokenizer.decode([id_of[piece] for piece in found])
        return {"translations": [{"text": text}]}

    @app.get("/readyz")
    async def ready() -> dict[str, str]:
        return {"status": "ready"}

    return app


@click.command(context_settings={"show_default": True})
@click.option("--model", type=click.Path(path_type=Path), required=True, help="CTranslate2 folder.")
@click.option(
    "--checkpoint", type=click.Path(path_type=Path), required=True, help="attend's folder."
)
@click.option("--inter-threads", type=click.IntRange(1), default=1)
@click.option("--intra-threads", type=click.IntRange(1), default=2)
@click.option("--beam", type=click.IntRange(1), default=4)
@click.option("--port", type=int, default=8001)
def main(
    *, model: Path, checkpoint: Path, inter_threads: int, intra_threads: int, beam: int, port: int
) -> None:
    """Serve a converted model."""
    translator = ctranslate2.Translator(
        str(model), compute_type="int8", inter_threads=inter_threads, intra_threads=intra_threads
    )
    config = read_config(checkpoint)
    options = {
        "beam_size": beam,
        "length_penalty": config.length_penalty,
        "suppress_sequences": suppressed(config.transformer),
    }
    batcher = MicroBatcher(translator, inter_threads, options)
    uvicorn.run(create_app(batcher, checkpoint), port=port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
