"""Leases models, loading them one at a time within a limit of memory."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Generic

import structlog

from app.concurrency.threads import in_background
from app.errors import AppError, DrainingError, ModelLoadingError, ModelTooLargeError
from app.memory import give_back
from app.observe.logs import log_failure
from app.observe.metrics import Metrics
from app.shelf.slot import Failure, LoadQueue, M, ModelSlot
from model.errors import ModelError

LEEWAY = 0.1
"""Seconds before its deadline at which a request stops waiting for a model, to answer in time."""

Clock = Callable[[], float]

_log = structlog.get_logger()


class Shelf(Generic[M]):
    """Owns the models at its slots from `start` to `stop`.

    max_bytes  memory of the loaded models; the least recently used are evicted
    max_idle   seconds after which an unused model is evicted
    clock      monotonic, in seconds; that of deadlines

    The limit covers the expected size of a model before it is loaded, and its memory afterwards.
    While all models are in use and grow, it may be exceeded until one is returned.
    """

    def __init__(
        self,
        slots: Iterable[ModelSlot[M]],
        max_bytes: float = math.inf,
        max_idle: float = math.inf,
        *,
        clock: Clock = time.monotonic,
        metrics: Metrics | None = None,
    ) -> None:
        self.max_bytes = max_bytes
        self._max_idle = max_idle
        self._timer: asyncio.TimerHandle | None = None
        self._clock = clock
        self._metrics = metrics or Metrics()
        self.slots: list[ModelSlot[M]] = []
        self._queue: LoadQueue[M] = LoadQueue()
        self._uses = count(1)
        self._worker: asyncio.Task[None] | None = None
        self.closed = False
        for slot in slots:
            self._put(slot)

    @property
    def models(self) -> Sequence[M]:
        """The loaded models."""
        return tuple(slot.model for slot in self.slots if slot.model is not None)

    @property
    def n_bytes(self) -> int:
        """The memory of the loaded models."""
        return sum(slot.n_bytes for slot in self.slots)

    async def start(self, loaded_already: Callable[[ModelSlot[M]], bool] = lambda _: False) -> None:
        """Start the loaded models, and load and start the pinned ones.

        Those for which `loaded_already` holds are adopted later. Raises as `ModelSlot.load` and
        `Model.start`, and `ModelTooLargeError`.
        """
        for slot in list(self.slots):
            if slot.model is not None:
                await slot.model.start()
            elif slot.pinned and not loaded_already(slot):
                await self._load(slot)

    async def stop(self) -> None:
        """Refuse further requests, finish the present ones, unload all models."""
        self.closed = True
        if self._timer:
            self._timer.cancel()
        if worker := self._worker:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        for slot in self.slots:
            for future in slot.take_waiting():
                future.set_exception(DrainingError("the server is stopping"))
        models = self.models
        self.slots.clear()
        await asyncio.gather(*(model.stop() for model in models))

    async def acquire(self, slot: ModelSlot[M], deadline: float) -> M:
        """Return a model, which stays loaded until `release`; load it first if necessary.

        Raises `ModelLoadingError` if it cannot be loaded by the deadline, `ModelUnavailableError`
        if loading failed, `DrainingError`.
        """
        model = slot.usable
        if model is None or not (slot.permanent or model.works):
            return await self._wait_for(slot, deadline)
        self._take(slot)
        return model

    def adopt(self, former: Shelf[M], twin: ModelSlot[M], slot: ModelSlot[M]) -> bool:
        """Replace a slot by its equal `twin` on another shelf, with its model and its leases.

        Returns whether it did: a model that is unloading or awaited stays.
        """
        if twin.usable is None or twin.waiting or twin not in former.slots:
            return False
        former.slots.remove(twin)
        self.slots.remove(slot)
        twin.pinned = slot.pinned
        self._put(twin)
        self._await_idleness()
        return True

    def _put(self, slot: ModelSlot[M]) -> None:
        slot.owner = self
        self.slots.append(slot)

    def _take(self, slot: ModelSlot[M]) -> None:
        slot.n_leases += 1
        slot.last_used = next(self._uses)
        self._metrics.model_requests(slot.name).inc()

    def release(self, slot: ModelSlot[M]) -> None:
        """End a lease."""
        slot.n_leases -= 1
        if not slot.n_leases:
            slot.returned.set()
            slot.idle_since = self._clock()
            self._await_idleness()
        if self.max_bytes < math.inf and self.n_bytes > self.max_bytes:  # the sum takes a while
            self._wake()

    def _await_idleness(self) -> None:
        """Set a timer for the next model that will have been unused for too long."""
        if self._max_idle == math.inf or self._timer or self.closed:
            return
        if since := [slot.idle_since for slot in self._evictable if not slot.n_leases]:
            delay = min(since) + self._max_idle - self._clock()
            self._timer = asyncio.get_running_loop().call_later(max(0.0, delay), self._end_idleness)

    def _end_idleness(self) -> None:
        self._timer = None
        self._wake()

    async def _wait_for(self, slot: ModelSlot[M], deadline: float) -> M:
        """Wait until the model is loaded. Raises as `acquire`."""
        if self.closed:
            raise DrainingError("the server is stopping")
        now = self._clock()
        if slot.failure and now < slot.failure.retry_at:
            raise slot.failure.as_error(slot.name, now)
        self._queue.add(slot)
        left = deadline - now - LEEWAY
        # The next load always starts, to correct the forecast after a slow one.
        if slot is not self._queue.first and (wait := self._queue.seconds_until(slot)) > left:
            if not slot.waiting:
                self._queue.remove(slot)
            raise ModelLoadingError.of(slot.name, wait)
        future: asyncio.Future[M] = asyncio.get_running_loop().create_future()
        slot.waiting.append(future)
        self._wake()
        try:
            async with asyncio.timeout(None if left == math.inf else left):
                return await future
        except BaseException as error:
            if future.done() and not future.cancelled() and not future.exception():
                self.release(slot)  # it was loaded just before the caller gave up
            elif future in slot.waiting:
                slot.waiting.remove(future)
            if isinstance(error, TimeoutError):
                raise ModelLoadingError.of(slot.name, self._queue.seconds_until(slot)) from None
            raise

    def _wake(self) -> None:
        if self._worker is None and not self.closed:
            # Not in the context of the request that wakes it: it loads models for others as well.
            self._worker = asyncio.create_task(self._work(), context=contextvars.Context())

    async def _work(self) -> None:
        """Load the queued models in order, and evict others beyond the limit, in this task only."""
        try:
            await self._shrink()
            while slot := self._queue.first:
                await self._load_or_fail(slot)
                await self._shrink()
        finally:
            self._worker = None  # at once: the next request starts another
            self._await_idleness()

    async def _load_or_fail(self, slot: ModelSlot[M]) -> None:
        try:
            if any(not future.done() for future in slot.waiting):  # else all requests gave up
                await self._load(slot)
        except Exception as error:
            self._fail(slot, error)
        finally:
            self._queue.remove(slot)

    async def _load(self, slot: ModelSlot[M]) -> None:
        """Load a model for the requests that wait. Raises as `ModelSlot.load` and `Model.start`."""
        if slot.model is not None:  # it is unloading, or has failed
            await self._unload(slot)
        slot.loading = True
        began = self._clock()
        try:
            await self._free_memory(slot)
            began = self._clock()
            model = await in_background(slot.load)
            try:
                await in_background(give_back)  # memory used for reading and packing
                await model.start()
            except BaseException:
                await model.stop()
                raise
        except BaseException:
            self._metrics.model_loaded(slot.name, "failed", self._clock() - began)
            raise
        finally:
            slot.loading = False
        slot.model, slot.failure = model, None
        slot.last_used, slot.idle_since = next(self._uses), self._clock()
        slot.expected = model.n_bytes
        for future in slot.take_waiting():
            self._take(slot)
            future.set_result(model)
        seconds = self._clock() - began
        self._queue.loaded_in(seconds)
        self._metrics.model_loaded(slot.name, "done", seconds)
        _log.info(
            "model loaded",
            model=slot.name, seconds=round(seconds, 3), bytes=model.n_bytes, all_bytes=self.n_bytes,
        )  # fmt: skip

    def _fail(self, slot: ModelSlot[M], error: Exception) -> None:
        now = self._clock()
        is_expected = isinstance(error, AppError | ModelError)
        if not is_expected:
            log_failure(error)
        reason = str(error) if is_expected else f"{type(error).__name__}, see the log"
        slot.failure = Failure.after(slot.failure, reason, now)
        pause = round(slot.failure.retry_at - now, 1)
        _log.error("model not loaded", model=slot.name, reason=reason, retry_in=pause)
        for future in slot.take_waiting():
            future.set_exception(slot.failure.as_error(slot.name, now))

    async def _free_memory(self, slot: ModelSlot[M]) -> None:
        """Evict models until there is memory for one more. Raises `ModelTooLargeError`."""
        while self.n_bytes + slot.expected > self.max_bytes:
            victim = self._least_recently_used(or_busy=True)
            if victim is None:
                raise ModelTooLargeError(slot.name, slot.expected, self.max_bytes - self.n_bytes)
            await self._unload(victim)

    async def _shrink(self) -> None:
        """Evict models that are unused for too long, or while the loaded ones exceed the limit."""
        while victim := self._least_recently_used():
            is_idle = self._clock() - victim.idle_since >= self._max_idle
            if not (is_idle or self.n_bytes > self.max_bytes):
                break
            await self._unload(victim)

    def _least_recently_used(self, *, or_busy: bool = False) -> ModelSlot[M] | None:
        """Return an unused model if there is one; else, with `or_busy`, one in use."""
        unused = [one for one in self._evictable if not one.n_leases]
        in_use = self._evictable if or_busy else []
        return min(unused or in_use, key=lambda one: one.last_used, default=None)

    @property
    def _evictable(self) -> list[ModelSlot[M]]:
        return [one for one in self.slots if one.usable is not None and not one.pinned]

    async def _unload(self, slot: ModelSlot[M]) -> None:
        """Free a model's memory once its leases are over."""
        slot.unloading = True
        try:
            while slot.n_leases:
                slot.returned.clear()
                await slot.returned.wait()
            model, slot.model = slot.model, None
        finally:
            slot.unloading = False
        if model is not None:
            await model.stop()
        del model
        await in_background(give_back)
        self._metrics.model_evictions(slot.name).inc()
        _log.info("model let go", model=slot.name, all_bytes=self.n_bytes)
