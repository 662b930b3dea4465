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

from app.concurrency.threads import in_background
from app.errors import AppError, DrainingError, ModelLoadingError, ModelTooLargeError
from app.memory import give_back
from app.observe.logs import log_failure
from app.observe.metrics import Metrics
from app.shelf.load_queue import LoadQueue
from app.shelf.slot import Failure, M, ModelSlot
from model.errors import ModelError

LEEWAY = 0.1
"""Seconds before its deadline at which a request stops waiting for a model: it could not be
answered in time any more, and is told when to come back."""

Clock = Callable[[], float]

_log = structlog.get_logger()


class Shelf(Generic[M]):
    """Owns the models at its slots from `start` to `stop`.

    max_bytes  memory of the loaded models; the least recently used are let go within it
    clock      monotonic, in seconds; that of deadlines

    The limit covers what is known of a model before it is loaded, and what it holds afterwards.
    While all other models are in use and grow, it may be exceeded until one is returned.
    """

    def __init__(
        self,
        slots: Iterable[ModelSlot[M]],
        max_bytes: float = math.inf,
        *,
        clock: Clock = time.monotonic,
        metrics: Metrics | None = None,
    ) -> None:
        self.max_bytes = max_bytes
        self._clock = clock
        self._metrics = metrics or Metrics()
        self._slots: dict[int, ModelSlot[M]] = {}
        self._queue: LoadQueue[M] = LoadQueue()
        self._uses = count(1)
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        for slot in slots:
            self._put(slot)

    @property
    def closed(self) -> bool:
        """Whether it was stopped."""
        return self._closed

    @property
    def slots(self) -> Sequence[ModelSlot[M]]:
        """All slots."""
        return tuple(self._slots.values())

    @property
    def models(self) -> Sequence[M]:
        """The loaded models."""
        return tuple(slot.model for slot in self._slots.values() if slot.model is not None)

    @property
    def n_bytes(self) -> int:
        """The memory of the loaded models."""
        return sum(slot.n_bytes for slot in self._slots.values())

    async def start(self, loaded_already: Callable[[ModelSlot[M]], bool] = lambda _: False) -> None:
        """Start the models that are loaded, and load and start the pinned ones.

        Raises as their `load` and `start`, and `ModelTooLargeError`. Those for which
        `loaded_already` holds are adopted later.
        """
        for slot in self.slots:
            if slot.model is not None:
                await slot.model.start()
            elif slot.pinned and not loaded_already(slot):
                await self._load(slot)

    async def stop(self) -> None:
        """Lend nothing more, finish what is in use, let all models go."""
        self._closed = True
        if worker := self._worker:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        for slot in self._slots.values():
            for future in slot.claims():
                future.set_exception(DrainingError("the server is stopping"))
        models = self.models
        self._slots.clear()
        await asyncio.gather(*(model.stop() for model in models))

    async def acquire(self, slot: ModelSlot[M], deadline: float) -> M:
        """Lend a model, which stays loaded until `release`; load it first if necessary.

        `deadline` is by the clock. Raises `ModelLoadingError` if the model cannot be loaded by
        then, `ModelUnavailableError` if it could not be loaded, `DrainingError`.
        """
        model = slot.usable
        if model is None or not (slot.permanent or model.works):
            return await self._arrival(slot, deadline)
        self._take(slot)
        return model

    def adopt(self, former: Shelf[M], twin: ModelSlot[M], slot: ModelSlot[M]) -> bool:
        """Take over another shelf's loaded model: `twin` replaces the equal `slot` of this one.

        Its present uses go on. Returns whether it did: a model that is unloading or wanted stays.
        """
        if twin.usable is None or twin.waiting or id(twin) not in former._slots:
            return False
        del former._slots[id(twin)], self._slots[id(slot)]
        twin.pinned = slot.pinned
        self._put(twin)
        return True

    def _put(self, slot: ModelSlot[M]) -> None:
        slot.owner = self
        self._slots[id(slot)] = slot

    # Lending

    def _take(self, slot: ModelSlot[M]) -> None:
        slot.n_leases += 1
        slot.last_used = next(self._uses)
        self._metrics.model_requests(slot.name).inc()

    def release(self, slot: ModelSlot[M]) -> None:
        """End a use."""
        slot.n_leases -= 1
        if not slot.n_leases:
            slot.returned.set()
        # Without a limit, what they hold need not be added up with every use.
        if self.max_bytes < math.inf and self.n_bytes > self.max_bytes:
            self._wake()

    async def _arrival(self, slot: ModelSlot[M], deadline: float) -> M:
        """Wait until the model is loaded, and lent to the caller. Raises as `lent`."""
        if self._closed:
            raise DrainingError("the server is stopping")
        now = self._clock()
        if slot.failure and now < slot.failure.retry_at:
            raise slot.failure.as_error(slot.name, now)
        self._queue.add(slot)
        left = deadline - now - LEEWAY
        if (wait := self._queue.seconds_until(slot)) > left:
            if not slot.waiting and not slot.loading:
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
                self.release(slot)  # it came in the moment in which the caller gave up
            elif future in slot.waiting:
                slot.waiting.remove(future)
            if isinstance(error, TimeoutError):
                raise ModelLoadingError.of(slot.name, self._queue.seconds_until(slot)) from None
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
            while slot := self._queue.first:
                await self._load_or_fail(slot)
                await self._shrink()
        finally:
            self._worker = None  # at once: whoever comes next wakes another

    async def _load_or_fail(self, slot: ModelSlot[M]) -> None:
        try:
            if any(not future.done() for future in slot.waiting):  # else all gave up
                await self._load(slot)
        except Exception as error:
            self._fail(slot, error)
        finally:
            self._queue.remove(slot)

    async def _load(self, slot: ModelSlot[M]) -> None:
        """Load a model and lend it to those who wait. Raises as its `load` and `start`."""
        if slot.model is not None:  # it is unloading, or works no more
            await self._unload(slot)
        slot.loading = True
        began = self._clock()
        try:
            await self._free_memory(slot)
            began = self._clock()
            model = await in_background(slot.load)
            try:
                await in_background(give_back)  # of what was read and packed
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
        slot.last_used = next(self._uses)
        slot.expected = model.n_bytes
        for future in slot.claims():
            self._take(slot)
            future.set_result(model)
        seconds = self._clock() - began
        self._queue.loaded_in(seconds)
        self._metrics.model_loaded(slot.name, "done", seconds)
        _log.info(
            "model loaded",
            model=slot.name, seconds=round(seconds, 3), bytes=model.n_bytes,
            all_bytes=self.n_bytes,
        )  # fmt: skip

    def _fail(self, slot: ModelSlot[M], error: Exception) -> None:
        now = self._clock()
        said = isinstance(error, AppError | ModelError)
        if not said:
            log_failure(error)
        reason = str(error) if said else f"{type(error).__name__}, see the log"
        slot.failure = Failure.after(slot.failure, reason, now)
        pause = round(slot.failure.retry_at - now, 1)
        _log.error("model not loaded", model=slot.name, reason=reason, retry_in=pause)
        for future in slot.claims():
            future.set_exception(slot.failure.as_error(slot.name, now))

    async def _free_memory(self, slot: ModelSlot[M]) -> None:
        """Let models go until there is memory for one more. Raises `ModelTooLargeError`."""
        while self.n_bytes + slot.expected > self.max_bytes:
            victim = self._least_recently_used(or_busy=True)
            if victim is None:
                room = self.max_bytes - self.n_bytes
                raise ModelTooLargeError(slot.name, slot.expected, room)
            await self._unload(victim)

    async def _shrink(self) -> None:
        """Let unused models go while the loaded ones hold more than the limit."""
        while self.n_bytes > self.max_bytes and (victim := self._least_recently_used()):
            await self._unload(victim)

    def _least_recently_used(self, *, or_busy: bool = False) -> ModelSlot[M] | None:
        """An unused model if there is one; else, with `or_busy`, one in use."""
        may_go = [one for one in self._slots.values() if one.usable is not None and not one.pinned]
        candidates = [one for one in may_go if not one.n_leases] or (may_go if or_busy else [])
        return min(candidates, key=lambda one: one.last_used, default=None)

    async def _unload(self, slot: ModelSlot[M]) -> None:
        """Free a model's memory once its present uses are over."""
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
