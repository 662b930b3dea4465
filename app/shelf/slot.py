"""A model's slot on the shelf, and the queue of slots to load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from app.errors import ModelUnavailableError

FIRST_PAUSE = 10.0
LONGEST_PAUSE = 600.0
"""Seconds before a model that failed to load is tried again, which double with each failure."""

State = Literal["known", "loading", "loaded", "failed"]


class Model(Protocol):
    """The shelf's view of a model."""

    @property
    def n_bytes(self) -> int:
        """The memory that it holds now. Cheap."""

    @property
    def works(self) -> bool:
        """False if only loading it again helps."""

    async def start(self) -> None:
        """Prepare it for use. Raises if it cannot be used."""

    async def stop(self) -> None:
        """Finish its work and free its memory."""


M = TypeVar("M", bound=Model)


class Owner(Protocol[M]):
    """The slot's view of the shelf that it is on."""

    async def acquire(self, slot: ModelSlot[M], deadline: float) -> M:
        """As `Shelf.acquire`."""

    def release(self, slot: ModelSlot[M]) -> None:
        """As `Shelf.release`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model could not be loaded, how often in a row, and when it is tried again."""

    reason: str
    count: int
    retry_at: float

    @classmethod
    def after(cls, former: Failure | None, reason: str, now: float) -> Failure:
        """Return the failure that follows another, if there was one."""
        count = former.count + 1 if former else 1
        return cls(reason, count, now + min(FIRST_PAUSE * 2 ** (count - 1), LONGEST_PAUSE))

    def as_error(self, model: str, now: float) -> ModelUnavailableError:
        """Return the error of a request for the model."""
        return ModelUnavailableError.of(model, self.retry_at - now)


@dataclass(eq=False)
class ModelSlot(Generic[M]):
    """A model's slot on the shelf.

    load       returns the model; blocks, in a thread of its own
    expected   bytes of memory that it is expected to need, until it was loaded once
    pinned     loaded at the start and never evicted
    permanent  there before the start, and never loaded again
    last_used  position in the order of uses, for least recently used
    idle_since when its last lease ended, by the shelf's clock
    unloading  takes no new requests and is unloaded when the present ones are done
    waiting    requests that wait until it is loaded
    """

    name: str
    load: Callable[[], M]
    expected: int = 0
    pinned: bool = False
    permanent: bool = False
    model: M | None = None
    n_leases: int = 0
    last_used: int = 0
    idle_since: float = 0.0
    unloading: bool = False
    loading: bool = False
    failure: Failure | None = None
    waiting: list[asyncio.Future[M]] = field(default_factory=list)
    owner: Owner[M] = field(init=False)
    returned: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def usable(self) -> M | None:
        """The model, if it can be leased now."""
        return None if self.unloading else self.model

    @property
    def state(self) -> State:
        """Its state, as in GET /info."""
        if self.model is not None:
            return "loaded"
        if self.loading:
            return "loading"
        return "failed" if self.failure else "known"

    @property
    def n_bytes(self) -> int:
        """The memory that it holds now."""
        return 0 if self.model is None else self.model.n_bytes

    def take_waiting(self) -> list[asyncio.Future[M]]:
        """Return the futures of the requests that still wait, and forget them."""
        waiting, self.waiting = self.waiting, []
        return [future for future in waiting if not future.done()]


def in_order_of_trial(slots: Iterable[ModelSlot[M]]) -> list[ModelSlot[M]]:
    """Return the slots of equal models, those last that could not be loaded."""
    return sorted(slots, key=lambda slot: slot.failure is not None)


class Lease(Generic[M]):
    """A use of a model, which stays loaded in a block; it is loaded first if necessary.

    It uses the first slot whose model can be loaded. Entering the block raises as
    `Shelf.acquire`. (A generator-based context manager would take twice the time.)
    """

    __slots__ = ("_deadline", "_slot", "_slots")

    def __init__(self, slots: Sequence[ModelSlot[M]], deadline: float) -> None:
        self._slots = slots
        self._slot = slots[0]
        self._deadline = deadline

    async def __aenter__(self) -> M:
        *others, last = in_order_of_trial(self._slots)
        for self._slot in others:
            with suppress(ModelUnavailableError):
                return await self._slot.owner.acquire(self._slot, self._deadline)
        self._slot = last
        return await last.owner.acquire(last, self._deadline)

    async def __aexit__(self, *_: object) -> None:
        self._slot.owner.release(self._slot)  # which may be another shelf by now


class LoadQueue(Generic[M]):
    """Slots in the order of the first request for each; they are loaded one at a time."""

    def __init__(self) -> None:
        self._slots: list[ModelSlot[M]] = []
        self._seconds = 0.0  # of recent loads, on average

    def add(self, slot: ModelSlot[M]) -> None:
        """Append a slot, unless it is in the queue."""
        if slot not in self._slots:
            self._slots.append(slot)

    def remove(self, slot: ModelSlot[M]) -> None:
        """Remove a slot, if it is in the queue."""
        if slot in self._slots:
            self._slots.remove(slot)

    @property
    def first(self) -> ModelSlot[M] | None:
        """The next to load."""
        return self._slots[0] if self._slots else None

    def loaded_in(self, seconds: float) -> None:
        """Record the duration of a load."""
        self._seconds = seconds if not self._seconds else (3 * self._seconds + seconds) / 4

    def seconds_until(self, slot: ModelSlot[M]) -> float:
        """Forecast when a slot is loaded, by the loads before it; 0 before the first load."""
        n_loads = self._slots.index(slot) + 1 if slot in self._slots else 1
        return n_loads * self._seconds
