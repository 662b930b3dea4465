"""A server whose engine fails on one sentence; see `benchmarks.reliability`."""

from __future__ import annotations

import multiprocessing
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.cli.serve import listen, make_server
from app.loading import build_runtime
from app.main import create_app
from app.observe.logs import configure_logs
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from benchmarks.connection import HOST
from benchmarks.wrapped_engine import WrappedEngine
from model.checkpoint.reader import load_checkpoint
from model.engine.build import build_engines
from model.engine.protocol import Engine, Finished, Job


class PoisonedEngine(WrappedEngine):
    """Raises in every step that includes the poisoned source, and loses all sentences in it."""

    def __init__(self, engine: Engine, poison: Sequence[int]) -> None:
        super().__init__(engine)
        self._poison = tuple(poison)
        self._inside: dict[int, Job] = {}

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs."""
        self._engine.admit(jobs)
        self._inside |= {job.id: job for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        self._engine.cancel(job_ids)
        for job_id in job_ids:
            self._inside.pop(job_id, None)

    def step(self) -> list[Finished]:
        """Raise, or advance the engine."""
        if any(job.source_ids == self._poison for job in self._inside.values()):
            self.cancel(list(self._inside))
            raise RuntimeError("poisoned")
        finished = self._engine.step()
        for done in finished:
            self._inside.pop(done.job_id, None)
        return finished


@contextmanager
def poisoned_server(checkpoint: Path, threads: int, poison: str) -> Iterator[int]:
    """Run the server and yield its port; `poison` is the sentence."""
    with listen(HOST, 0) as listener:
        server = multiprocessing.get_context("fork").Process(
            target=_serve, args=(listener, checkpoint, threads, poison)
        )
        server.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.terminate()
            server.join()


def _serve(listener: socket.socket, folder: Path, threads: int, poison: str) -> None:
    def load(settings: Settings, metrics: Metrics) -> Runtime:
        checkpoint = load_checkpoint(folder)
        _, target = checkpoint.config.directions[0]
        ids = checkpoint.tokenizer.source_ids(poison, target)
        engines = [PoisonedEngine(one, ids) for one in build_engines(checkpoint, n_threads=threads)]
        return build_runtime([checkpoint], [engines], settings, metrics)

    configure_logs("error", stream=sys.stderr)
    settings = Settings.parse(checkpoint=folder, sentence_cache_bytes=0)
    make_server(create_app(settings, load), settings).run([listener])
