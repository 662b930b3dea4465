"""Runs a stream of sentences on one or several engines, for offline programs. Imports no torch."""

import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeAlias

from model.engine.protocol import Engine, Finished, Job

WINDOW = 1024
"""Maximum items read ahead of the oldest unfinished one, which bounds memory."""

Item: TypeAlias = Job | Finished | None
"""A job; a result that needs no engine; or None: the next item may take long to arrive."""


def run_jobs(
    engines: Sequence[Engine], items: Iterable[Item], window: int = WINDOW
) -> Generator[Finished, None, None]:
    """Yield the outcome of every item once known, at most `window` ahead of the oldest open one.

    Items are read in the caller's thread. After a None, the next one is requested only when all
    earlier results are yielded, so that no result waits for a blocked source. A job goes to the
    engine with the least work; a single engine runs in the caller's thread, several in one thread
    each. The engines must be empty, and are left empty, also if the caller stops early.

    A job's own error, or an engine's refusal of it, is its outcome. An error of the items is raised
    after all earlier results are yielded, an error of an engine at once.
    """
    if not engines:
        raise ValueError("no engines")
    feed = _Feed(items, window)
    yield from _run_here(engines[0], feed) if len(engines) == 1 else _run_apart(engines, feed)
    if feed.failure is not None:
        raise feed.failure


class _Feed:
    """The items in order, and which of them are open: read, but without an outcome."""

    def __init__(self, items: Iterable[Item], window: int) -> None:
        self._items = iter(items)
        self._window = window
        self._n_read = 0
        self._open: dict[int, int] = {}  # job id → number of items read before it
        self._paused = False
        self._ended = False
        self.failure: Exception | None = None

    @property
    def any_open(self) -> bool:
        return bool(self._open)

    def pull(self) -> Job | Finished | None:
        """Return the next item; None if there is none, or if others must finish first."""
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
        del self._open[job_id]


class _Station:
    """An engine and the jobs waiting for it, in order."""

    def __init__(self, engine: Engine) -> None:
        self.waiting: deque[Job] = deque()
        self._engine = engine
        self._inside: set[int] = set()
        self._refused: list[Finished] = []

    @property
    def idle(self) -> bool:
        return not self.waiting and not self._inside

    def admit(self) -> bool:
        """Admit as many jobs as fit; return whether none is left waiting."""
        while self.waiting and self._engine.can_admit(self.waiting[0]):
            job = self.waiting.popleft()
            try:
                self._engine.admit([job])
            except Exception as error:
                self._refused.append(Finished(job.id, error))
            else:
                self._inside.add(job.id)
        return not self.waiting

    def step(self) -> list[Finished]:
        """Advance the engine; return the jobs that it refused or finished."""
        finished = self._engine.step()
        self._inside.difference_update(done.job_id for done in finished)
        refused, self._refused = self._refused, []
        return refused + finished

    def clear(self) -> None:
        self._engine.cancel(list(self._inside))


def _run_here(engine: Engine, feed: _Feed) -> Iterator[Finished]:
    station = _Station(engine)
    try:
        while True:
            while station.admit() and (item := feed.pull()):
                if isinstance(item, Finished):
                    yield item
                else:
                    station.waiting.append(item)
            if not feed.any_open:
                return
            for finished in station.step():
                feed.close(finished.job_id)
                yield finished
    finally:
        station.clear()


class _Worker(threading.Thread):
    """An engine in its own thread.

    load  source tokens submitted and not finished, for the caller's thread
    """

    def __init__(self, engine: Engine, reports: SimpleQueue[Finished | BaseException]) -> None:
        super().__init__(name="engine", daemon=True)
        self.load = 0
        self._engine = engine
        self._station = _Station(engine)
        self._reports = reports
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self.start()

    def put(self, job: Job | None) -> None:
        """Submit a job; None ends the thread after the current step."""
        self._inbox.put(job)
        self._engine.interrupt()

    def run(self) -> None:
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
        """Take new jobs, waiting if idle; return False if the end is requested."""
        wait = self._station.idle
        while True:
            try:
                job = self._inbox.get(block=wait)
            except Empty:
                return True
            if job is None:
                return False
            self._station.waiting.append(job)
            wait = False


def _run_apart(engines: Sequence[Engine], feed: _Feed) -> Iterator[Finished]:
    reports: SimpleQueue[Finished | BaseException] = SimpleQueue()
    workers = [_Worker(engine, reports) for engine in engines]
    submitted: dict[int, tuple[_Worker, Job]] = {}
    try:
        while True:
            while item := feed.pull():
                if isinstance(item, Finished):
                    yield item
                else:
                    worker = min(workers, key=lambda one: one.load)
                    worker.load += len(item.source_ids)
                    worker.put(item)
                    submitted[item.id] = (worker, item)
            if not feed.any_open:
                return
            report = reports.get()
            if isinstance(report, BaseException):
                raise report
            worker, job = submitted.pop(report.job_id)
            worker.load -= len(job.source_ids)
            feed.close(report.job_id)
            yield report
    finally:
        for worker in workers:
            worker.put(None)
        for worker in workers:
            worker.join()
