"""How much a client may ask for in a minute: token buckets, one for each client."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from app.errors import RateLimitedError

MINUTE = 60.0

MAX_CLIENTS = 10_000
"""Buckets at a time; the one that was not used for longest is forgotten, and so is full again."""


class RateLimit:
    """Lets every client have so many a minute, a minute's worth at once if it was quiet before.

    per_minute  None for any number
    what        of which there are so many, for the message
    clock       seconds, monotonic
    """

    def __init__(
        self, per_minute: int | None, what: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._what = what
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # left, at

    def take(self, client: Hashable, n: int) -> None:
        """Take n out of a client's bucket. Raises `RateLimitedError`, and takes none then.

        More than a bucket holds is given to who has a full one, which is then in debt.
        """
        if self._per_minute is None:
            return
        now, per_second = self._clock(), self._per_minute / MINUTE
        left, at = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - at) * per_second)
        missing = min(n, self._per_minute) - left
        allowed = missing <= 0
        self._buckets[client] = left - n if allowed else left, now
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        if not allowed:
            raise RateLimitedError(
                f"{self._per_minute:,} {self._what} a minute are allowed",
                math.ceil(missing / per_second),
            )


class RateLimits:
    """Those of requests and of their characters."""

    def __init__(self, requests: int | None, characters: int | None) -> None:
        self._requests = RateLimit(requests, "requests")
        self._characters = RateLimit(characters, "characters")

    def take(self, client: Hashable, n_characters: int) -> None:
        """A request with that many characters. Raises `RateLimitedError`."""
        self._requests.take(client, 1)
        self._characters.take(client, n_characters)
