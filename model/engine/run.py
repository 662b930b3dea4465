"""Runs many sentences on one or several engines, for programs that have them at hand.

Servers schedule requests instead. Imports no torch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeAlias

from model.engine.protocol import Engine, Finished, Job

WINDOW = 1024
"""Maximum items read ahead of the oldest unfinished one, which bounds memory."""

Item: TypeAlias = Job | Finished | None
"""A job; or a result that needs no engine; or None: the next item may take long to arrive."""


def run_jobs(
    engines: Sequence[Engine], items: Iterable[Item], window: int = WINDOW
) -> Generator[Finished, None, None]:
    """Yield the outcome of every item once known, at most `window` ahead of the oldest open one.

    Items are read in the caller's thread. After a None, the next one is requested only when
    everything before it is handed out, so that no result waits for a blocked source. A job goes to
    the engine with the least work; a single engine runs in the caller's thread, several in one
    thread each. The engines must be empty, and are left empty, also if the caller stops early.

    A job's own error, or an engine's refusal of it, is its outcome. An error of the items is raised
    after everything before it is handed out, an error of an engine at once.
    """
    if not engines:
        raise ValueError("no engines")
    feed = _Feed(items, window)
    yield from _run_here(engines[0], feed) if len(engines) == 1 else _run_apart(engines, feed)
    if feed.failure is not None:
        raise feed.failure


class _Feed:
    """The items in order, and which of them are open: read and without an outcome."""

    def __init__(self, items: Iterable[Item], window: int) -> None:
        self._items = iter(items)
        self._window = window
        self._n_read = 0
        self._open: dict[int, int] = {}  # job id → how many items were read before it
        self._paused = False
        self._ended = False
        self.failure: Exception | None = None

    @property
    def any_open(self) -> bool:
        return bool(self._open)

    def pull(self) -> Job | Finished | None:
        """Return the next item; None if there is none, or none before others are done."""
        while not self._ended and self._may_read():
            try:
                item = next(self._items)
            except StopIteration:
                self._ended = True
                return None
            except Exception as error:
                self._ended, self.failure = True, error
                return None
            self._paused = item is None
            if item is not None:
                if isinstance(item, Job):
                    self._open[item.id] = self._n_read
                self._n_read += 1
                return item
        return None

    def _may_read(self) -> bool:
        if not self._open:
            return True
        oldest = next(iter(self._open.values()))
        return not self._paused and self._n_read - oldest < self._window

    def close(self, job_id: int) -> None:
        """Record that a job has its outcome."""
        del self._open[job_id]


class _Station:
    """An engine and the jobs waiting for it, in order."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: deque[Job] = deque()
        self._inside: set[int] = set()
        self._refused: list[Finished] = []

    @property
    def idle(self) -> bool:
        return not self._waiting and not self._inside

    def put(self, job: Job) -> None:
        self._waiting.append(job)

    def admit(self) -> bool:
        """Admit as many jobs as fit; return whether none is left waiting."""
        while self._waiting and self._engine.room(self._waiting[0]):
            job = self._waiting.popleft()
            try:
                self._engine.admit([job])
            except Exception as error:
                self._refused.append(Finished(job.id, error))
            else:
                self._inside.add(job.id)
        return not self._waiting

    def step(self) -> list[Finished]:
        """Advance the engine; return the jobs that it refused or finished."""
        finished = self._engine.step()
        self._inside.difference_update(done.job_id for done in finished)
        refused, self._refused = self._refused, []
        return refused + finished

    def clear(self) -> None:
        """Drop everything."""
        self._engine.cancel(list(self._inside))


def _run_here(engine: Engine, feed: _Feed) -> Iterator[Finished]:
    station = _Station(engine)
    try:
        while True:
            while station.admit() and (item := feed.pull()):
                if isinstance(item, Finished):
                    yield item
                else:
                    station.put(item)
            if not feed.any_open:
                return
            for finished in station.step():
                feed.close(finished.job_id)
                yield finished
    finally:
        station.clear()


class _Worker:
    """An engine in its own thread; all methods except `_run` are for the caller's thread.

    load  source tokens submitted and not finished
    """

    def __init__(self, engine: Engine, reports: SimpleQueue[Finished | BaseException]) -> None:
        self.load = 0
        self._engine = engine
        self._station = _Station(engine)
        self._reports = reports
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def give(self, job: Job) -> None:
        self.load += len(job.source_ids)
        self._put(job)

    def dismiss(self) -> None:
        """Stop after the current step; see `join`."""
        self._put(None)

    def join(self) -> None:
        self._thread.join()

    def _put(self, job: Job | None) -> None:
        self._inbox.put(job)
        self._engine.interrupt()

    def _run(self) -> None:
        try:
            try:
                while self._receive():
                    self._station.admit()
                    for finished in self._station.step():
                        self._reports.put(finished)
            finally:
                self._station.clear()
        except BaseException as error:
            self._reports.put(error)

    def _receive(self) -> bool:
        """Take new jobs, waiting for them if there is nothing to do; return False if dismissed."""
        wait = self._station.idle
        while True:
            try:
                job = self._inbox.get(block=wait)
            except Empty:
                return True
            if job is None:
                return False
            self._station.put(job)
            wait = False


def _run_apart(engines: Sequence[Engine], feed: _Feed) -> Iterator[Finished]:
    reports: SimpleQueue[Finished | BaseException] = SimpleQueue()
    workers = [_Worker(engine, reports) for engine in engines]
    given: dict[int, tuple[_Worker, Job]] = {}
    try:
        while True:
            while item := feed.pull():
                if isinstance(item, Finished):
                    yield item
                else:
                    worker = min(workers, key=lambda one: one.load)
                    worker.give(item)
                    given[item.id] = (worker, item)
            if not feed.any_open:
                return
            report = reports.get()
            if isinstance(report, BaseException):
                raise report
            worker, job = given.pop(report.job_id)
            worker.load -= len(job.source_ids)
            feed.close(report.job_id)
            yield report
    finally:
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.join()
