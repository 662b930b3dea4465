"""A finished request leaves no reference cycles for the garbage collector.

Under full load, a collection traverses the objects of all admitted requests, and delays each of
them by a tenth of a second.
"""

import gc
import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.app.fake_engine import FakeEngine
from tests.app.listening import listening

OURS = ("app.", "model.", "starlette.", "fastapi.", "uvicorn.")
N_REQUESTS = 5
CAT = {"text": "The cat. The dog.", "target": "fr"}


@contextmanager
def unreachable() -> Iterator[list[object]]:
    """Collect the objects created in the block that only the garbage collector can reach."""
    found: list[object] = []
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


class Client:
    """Asks a server on one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def post(self, path: str, body: dict[str, Any], **headers: str) -> int:
        headers["Content-Type"] = "application/json"
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def close(self) -> None:
        self._connection.close()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/translate", CAT, 200),
        ("/translate", CAT | {"text": ["The cat.", "Cats. Dogs."], "beam_size": 2}, 200),
        ("/translate", CAT | {"stream": True}, 200),
        ("/translate", CAT | {"format": "html", "text": "The <b>cat</b> of {name}."}, 200),
        ("/translate", CAT | {"attention": True, "alignment": True}, 200),
        ("/translate", {"q": "The cat.", "source": "auto", "target": "fr"}, 200),
        ("/v2/translate", {"text": ["The cat."], "target_lang": "FR"}, 200),
        ("/detect", {"text": "The cat."}, 200),
        ("/translate", CAT | {"target": "xx"}, 404),
        ("/translate", {}, 422),
        ("/nothing", {}, 404),
    ],
)
def test_a_request_leaves_nothing_to_the_garbage_collector(
    path: str, body: dict[str, Any], status: int, tiny_checkpoint: Path
) -> None:
    with (
        listening(FakeEngine(), tiny_checkpoint, sentence_cache_bytes=0) as url,
        closing(Client(url)) as client,
    ):
        assert client.post(path, body) == status  # one-time initialisation
        with unreachable() as found:
            for _ in range(N_REQUESTS):
                client.post(path, body)
            time.sleep(0.05)  # the last request may end after its answer
    kinds = Counter(f"{type(one).__module__}.{type(one).__name__}" for one in found)
    assert {kind: n for kind, n in kinds.items() if kind.startswith(OURS)} == {}
