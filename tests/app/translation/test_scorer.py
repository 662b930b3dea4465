import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.observe.timings import Timings
from app.scheduling.fair_queue import Caller
from app.translation.scorer import Scorer
from model.decoding.hypothesis import SearchOptions


async def test_an_abandoned_list_is_read_no_further() -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    read: list[str] = []

    def encode(text: str, *_: str) -> list[Any]:
        loop.call_soon_threadsafe(started.set)
        read.append(text)
        return []

    codec: Any = SimpleNamespace(encode_source=encode, encode_target=encode)
    scorer = Scorer(codec, cast("Any", None), 512)
    pairs = [("a", "b")] * 10_000_000
    scoring = asyncio.create_task(
        scorer.score(pairs, ("en", "fr"), SearchOptions(), caller=Caller(None), timings=Timings())
    )
    await started.wait()
    scoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scoring
    while (n_read := len(read)) < 2 * len(pairs):
        await asyncio.sleep(0.05)
        if len(read) == n_read:
            return
    pytest.fail("it was read to its end")
