"""`attend serve` in a child process, with engines of the caller's choice."""

import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from app.cli.serve import listen, make_server, spare_the_collector
from app.loading import build_runtime
from app.main import create_app
from app.observe.logs import configure_logs
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from benchmarks.load import HOST
from benchmarks.server import POLL, is_ready
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.engine.protocol import Engine

EngineBuilder = Callable[[Checkpoint], Sequence[Engine]]


@contextmanager
def serving(folder: Path, build: EngineBuilder) -> Iterator[int]:
    """Serve a checkpoint without golden sentences → the port, once the server is ready."""
    with listen(HOST, 0) as listener:
        server = multiprocessing.get_context("fork").Process(
            target=_serve, args=(listener, folder, build)
        )
        server.start()
        try:
            port: int = listener.getsockname()[1]
            while not is_ready(port):
                time.sleep(POLL)
            yield port
        finally:
            server.terminate()
            server.join()


def _serve(listener: socket.socket, folder: Path, build: EngineBuilder) -> None:
    def load(settings: Settings, metrics: Metrics) -> Runtime:
        checkpoint = replace(load_checkpoint(folder), golden=())
        return build_runtime([checkpoint], [build(checkpoint)], settings, metrics)

    settings = Settings.parse(checkpoint=folder, sentence_cache_bytes=0)
    server = make_server(create_app(settings, load, when_ready=spare_the_collector), settings)
    with Path(os.devnull).open("w") as nowhere:
        configure_logs("info", stream=nowhere)  # writing log lines is part of the server's cost
        server.run([listener])
