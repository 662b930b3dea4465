"""The models to load, in order, and a forecast of when each will be."""

from __future__ import annotations

from typing import Generic

from app.shelf.slot import M, ModelSlot


class LoadQueue(Generic[M]):
    """Places in the order of the first request for each; loads are one at a time."""

    def __init__(self) -> None:
        self._wanted: dict[int, ModelSlot[M]] = {}
        self._seconds = 0.0  # of recent loads, on average

    def add(self, slot: ModelSlot[M]) -> None:
        """Put a slot last, unless it is in the queue."""
        self._wanted.setdefault(id(slot), slot)

    def remove(self, slot: ModelSlot[M]) -> None:
        """Take a slot out, if it is in the queue."""
        self._wanted.pop(id(slot), None)

    @property
    def first(self) -> ModelSlot[M] | None:
        """The next to load."""
        return next(iter(self._wanted.values()), None)

    def loaded_in(self, seconds: float) -> None:
        """Note how long a load took."""
        self._seconds = seconds if not self._seconds else (3 * self._seconds + seconds) / 4

    def seconds_until(self, slot: ModelSlot[M]) -> float:
        """Forecast, by the number of models that are loaded before it; 0 before the first load."""
        order = list(self._wanted)
        n_loads = order.index(id(slot)) + 1 if id(slot) in self._wanted else 1
        return n_loads * self._seconds
