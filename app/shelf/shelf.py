"""Lends models, loading them one at a time within a limit of memory."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Generic

import structlog

from app.concurrency.daemon_thread import in_background
from app.errors import AppError, DrainingError, ModelLoadingError, ModelTooLargeError
from app.freed_memory import give_back
from app.observe.logs import log_failure
from app.observe.metrics import Metrics
from app.shelf.load_queue import LoadQueue
from app.shelf.place import Failure, M, Place
from model.errors import ModelError

LEEWAY = 0.1
"""Seconds before its deadline at which a request stops waiting for a model: it could not be
answered in time any more, and is told when to come back."""

Clock = Callable[[], float]

_log = structlog.get_logger()


class Shelf(Generic[M]):
    """Owns the models at its places from `start` to `stop`.

    max_bytes  memory of the loaded models; the least recently used are let go within it
    clock      monotonic, in seconds; that of deadlines

    The limit covers what is known of a model before it is loaded, and what it holds afterwards.
    While all other models are in use and grow, it may be exceeded until one is returned.
    """

    def __init__(
        self,
        places: Iterable[Place[M]],
        max_bytes: float = math.inf,
        *,
        clock: Clock = time.monotonic,
        metrics: Metrics | None = None,
    ) -> None:
        self.max_bytes = max_bytes
        self._clock = clock
        self._metrics = metrics or Metrics()
        self._places: dict[int, Place[M]] = {}
        self._queue: LoadQueue[M] = LoadQueue()
        self._uses = count(1)
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        for place in places:
            self._put(place)

    @property
    def closed(self) -> bool:
        """Whether it was stopped."""
        return self._closed

    @property
    def places(self) -> Sequence[Place[M]]:
        """All places."""
        return tuple(self._places.values())

    @property
    def models(self) -> Sequence[M]:
        """The loaded models."""
        return tuple(place.model for place in self._places.values() if place.model is not None)

    @property
    def n_bytes(self) -> int:
        """The memory of the loaded models."""
        return sum(place.n_bytes for place in self._places.values())

    async def start(self, loaded_already: Callable[[Place[M]], bool] = lambda _: False) -> None:
        """Start the models that are loaded, and load and start the pinned ones.

        Raises as their `load` and `start`, and `ModelTooLargeError`. Those for which
        `loaded_already` holds are adopted later.
        """
        for place in self.places:
            if place.model is not None:
                await place.model.start()
            elif place.pinned and not loaded_already(place):
                await self._load(place)

    async def stop(self) -> None:
        """Lend nothing more, finish what is in use, let all models go."""
        self._closed = True
        if worker := self._worker:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        for place in self._places.values():
            for future in place.claims():
                future.set_exception(DrainingError("the server is stopping"))
        models = self.models
        self._places.clear()
        await asyncio.gather(*(model.stop() for model in models))

    async def lend(self, place: Place[M], deadline: float) -> M:
        """Lend a model, which stays loaded until `take_back`; load it first if necessary.

        `deadline` is by the clock. Raises `ModelLoadingError` if the model cannot be loaded by
        then, `ModelUnavailableError` if it could not be loaded, `DrainingError`.
        """
        model = place.usable
        if model is None or not (place.permanent or model.works):
            return await self._arrival(place, deadline)
        self._take(place)
        return model

    def adopt(self, former: Shelf[M], twin: Place[M], place: Place[M]) -> bool:
        """Take over another shelf's loaded model: `twin` replaces the equal `place` of this one.

        Its present uses go on. Returns whether it did: a model that is leaving or wanted stays.
        """
        if twin.usable is None or twin.waiting or id(twin) not in former._places:
            return False
        del former._places[id(twin)], self._places[id(place)]
        twin.pinned = place.pinned
        self._put(twin)
        return True

    def _put(self, place: Place[M]) -> None:
        place.owner = self
        self._places[id(place)] = place

    # Lending

    def _take(self, place: Place[M]) -> None:
        place.n_lent += 1
        place.last_lent = next(self._uses)
        self._metrics.model_used(place.name)

    def take_back(self, place: Place[M]) -> None:
        """End a use."""
        place.n_lent -= 1
        if not place.n_lent:
            place.returned.set()
        # Without a limit, what they hold need not be added up with every use.
        if self.max_bytes < math.inf and self.n_bytes > self.max_bytes:
            self._wake()

    async def _arrival(self, place: Place[M], deadline: float) -> M:
        """Wait until the model is loaded, and lent to the caller. Raises as `lent`."""
        if self._closed:
            raise DrainingError("the server is stopping")
        now = self._clock()
        if place.failure and now < place.failure.retry_at:
            raise place.failure.as_error(place.name, now)
        self._queue.add(place)
        left = deadline - now - LEEWAY
        if (wait := self._queue.seconds_until(place)) > left:
            if not place.waiting and not place.loading:
                self._queue.remove(place)
            raise ModelLoadingError.of(place.name, wait)
        future: asyncio.Future[M] = asyncio.get_running_loop().create_future()
        place.waiting.append(future)
        self._wake()
        try:
            async with asyncio.timeout(None if left == math.inf else left):
                return await future
        except BaseException as error:
            if future.done() and not future.cancelled() and not future.exception():
                self.take_back(place)  # it came in the moment in which the caller gave up
            elif future in place.waiting:
                place.waiting.remove(future)
            if isinstance(error, TimeoutError):
                raise ModelLoadingError.of(place.name, self._queue.seconds_until(place)) from None
            raise

    # Loading and letting go, in one task

    def _wake(self) -> None:
        if self._worker is None and not self._closed:
            # Not in the context of the request that wakes it: it also loads what others want.
            self._worker = asyncio.create_task(self._work(), context=contextvars.Context())

    async def _work(self) -> None:
        """Load what is wanted, in order; let go what exceeds the limit."""
        try:
            await self._shrink()
            while place := self._queue.first:
                await self._load_or_fail(place)
                await self._shrink()
        finally:
            self._worker = None  # at once: whoever comes next wakes another

    async def _load_or_fail(self, place: Place[M]) -> None:
        try:
            if any(not future.done() for future in place.waiting):  # else all gave up
                await self._load(place)
        except Exception as error:
            self._fail(place, error)
        finally:
            self._queue.remove(place)

    async def _load(self, place: Place[M]) -> None:
        """Load a model and lend it to those who wait. Raises as its `load` and `start`."""
        if place.model is not None:  # it is leaving, or works no more
            await self._let_go(place)
        place.loading = True
        began = self._clock()
        try:
            await self._make_room(place)
            began = self._clock()
            model = await in_background(place.load)
            try:
                await in_background(give_back)  # of what was read and packed
                await model.start()
            except BaseException:
                await model.stop()
                raise
        except BaseException:
            self._metrics.model_loaded(place.name, "failed", self._clock() - began)
            raise
        finally:
            place.loading = False
        place.model, place.failure = model, None
        place.last_lent = next(self._uses)
        place.expected = model.n_bytes
        for future in place.claims():
            self._take(place)
            future.set_result(model)
        seconds = self._clock() - began
        self._queue.loaded_in(seconds)
        self._metrics.model_loaded(place.name, "done", seconds)
        _log.info(
            "model loaded",
            model=place.name, seconds=round(seconds, 3), bytes=model.n_bytes,
            all_bytes=self.n_bytes,
        )  # fmt: skip

    def _fail(self, place: Place[M], error: Exception) -> None:
        now = self._clock()
        said = isinstance(error, AppError | ModelError)
        if not said:
            log_failure(error)
        reason = str(error) if said else f"{type(error).__name__}, see the log"
        place.failure = Failure.after(place.failure, reason, now)
        pause = round(place.failure.retry_at - now, 1)
        _log.error("model not loaded", model=place.name, reason=reason, retry_in=pause)
        for future in place.claims():
            future.set_exception(place.failure.as_error(place.name, now))

    async def _make_room(self, place: Place[M]) -> None:
        """Let models go until there is memory for one more. Raises `ModelTooLargeError`."""
        while self.n_bytes + place.expected > self.max_bytes:
            victim = self._least_recently_used(or_busy=True)
            if victim is None:
                room = self.max_bytes - self.n_bytes
                raise ModelTooLargeError(place.name, place.expected, room)
            await self._let_go(victim)

    async def _shrink(self) -> None:
        """Let unused models go while the loaded ones hold more than the limit."""
        while self.n_bytes > self.max_bytes and (victim := self._least_recently_used()):
            await self._let_go(victim)

    def _least_recently_used(self, *, or_busy: bool = False) -> Place[M] | None:
        """An unused model if there is one; else, with `or_busy`, one in use."""
        may_go = [one for one in self._places.values() if one.usable is not None and not one.pinned]
        candidates = [one for one in may_go if not one.n_lent] or (may_go if or_busy else [])
        return min(candidates, key=lambda one: one.last_lent, default=None)

    async def _let_go(self, place: Place[M]) -> None:
        """Free a model's memory once its present uses are over."""
        place.leaving = True
        try:
            while place.n_lent:
                place.returned.clear()
                await place.returned.wait()
            model, place.model = place.model, None
        finally:
            place.leaving = False
        if model is not None:
            await model.stop()
        del model
        await in_background(give_back)
        self._metrics.model_evicted(place.name)
        _log.info("model let go", model=place.name, all_bytes=self.n_bytes)
