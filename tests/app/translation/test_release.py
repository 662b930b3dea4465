"""A request's objects are freed when it ends, without the garbage collector."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from app.documents.files import _TextFile
from app.translation.windows import Windows
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine

LINES = "".join(f"The cat {n}.\n" for n in range(300))


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[weakref.ref[Any]]]:
    """Collect references to the windows and the files of requests; nothing is collected."""
    made: list[weakref.ref[Any]] = []
    for kind in (Windows, _TextFile):
        build: Any = kind.__init__

        def noted(self: Any, *args: Any, build: Any = build, **options: Any) -> None:
            made.append(weakref.ref(self))
            build(self, *args, **options)

        monkeypatch.setattr(kind, "__init__", noted)
    gc.collect()
    gc.disable()
    yield made
    gc.enable()


@pytest.mark.parametrize(
    ("kind", "is_late"),
    [("text", False), ("text", True), ("stream", False), ("file", False), ("file", True)],
)
async def test_texts_are_released_without_the_garbage_collector(
    serve: Serve, held: list[weakref.ref[Any]], kind: str, is_late: bool
) -> None:
    gate = threading.Semaphore(1) if is_late else None
    timeout = 1 if is_late else 60
    async with serve(
        FakeEngine(gate=gate), sentence_cache_bytes=0, file_timeout=timeout, request_timeout=timeout
    ) as client:
        held.clear()
        if kind == "file":
            answer = await client.post(
                "/translate_file",
                files={"file": ("a.txt", LINES.encode())},
                data={"source": "en", "target": "fr"},
            )
        else:
            body = {"text": LINES, "target": "fr", "beam_size": 1, "stream": kind == "stream"}
            answer = await client.post("/translate", json=body)
        assert (answer.status_code == 504) == is_late, answer.text
        assert held
        for _ in range(100):
            if not any(one() for one in held):
                break
            await asyncio.sleep(0.01)
        left = [one() for one in held if one()]
        assert not left, [gc.get_referrers(one) for one in left]
        if gate:
            gate.release(10_000)
