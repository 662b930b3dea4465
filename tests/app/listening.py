"""An application behind a real uvicorn on a free port, in a thread of this process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from app.cli.serve import listen
from app.main import create_app
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from model.checkpoint.reader import load_checkpoint
from model.engine.protocol import Engine
from tests.app.fake_runtime import build_runtime


@contextmanager
def listening(engine: Engine, checkpoint: Path, **settings: Any) -> Iterator[str]:
    """Yields the URL, once the server is ready."""

    def load(settings: Settings, metrics: Metrics) -> Runtime:
        return build_runtime([load_checkpoint(checkpoint)], [engine], settings, metrics)

    app = create_app(Settings.parse(checkpoint=checkpoint, **settings), load)
    # Long enough for a client on a busy machine.
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_keep_alive=60)
    server = uvicorn.Server(config)
    listener = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        _wait_until_ready(url)
        yield url
    finally:
        server.should_exit = True
        thread.join()


def _wait_until_ready(url: str) -> None:
    end = time.monotonic() + 60
    with httpx.Client(base_url=url, timeout=60) as client:
        while client.get("/readyz").status_code != httpx.codes.OK:
            if time.monotonic() > end:
                pytest.fail("not ready")
            time.sleep(0.02)
