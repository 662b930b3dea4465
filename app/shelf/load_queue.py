"""The models to load, in order, and a forecast of when each will be."""

from __future__ import annotations

from typing import Generic

from app.shelf.place import M, Place


class LoadQueue(Generic[M]):
    """Places in the order of the first request for each; loads are one at a time."""

    def __init__(self) -> None:
        self._wanted: dict[int, Place[M]] = {}
        self._seconds = 0.0  # of recent loads, on average

    def add(self, place: Place[M]) -> None:
        """Put a place last, unless it is in the queue."""
        self._wanted.setdefault(id(place), place)

    def remove(self, place: Place[M]) -> None:
        """Take a place out, if it is in the queue."""
        self._wanted.pop(id(place), None)

    @property
    def first(self) -> Place[M] | None:
        """The next to load."""
        return next(iter(self._wanted.values()), None)

    def loaded_in(self, seconds: float) -> None:
        """Note how long a load took."""
        self._seconds = seconds if not self._seconds else (3 * self._seconds + seconds) / 4

    def seconds_until(self, place: Place[M]) -> float:
        """Forecast, by the number of models that are loaded before it; 0 before the first load."""
        order = list(self._wanted)
        n_loads = order.index(id(place)) + 1 if id(place) in self._wanted else 1
        return n_loads * self._seconds
