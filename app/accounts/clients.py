"""The client of a request: the holder of a key or, if keys are not required, an address."""

import hashlib
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from app.errors import MissingKeyError, RateLimitedError, WrongKeyError

EVERYONE = ""
"""The account of all clients without a key."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client, without the key itself.

    account  owner of the character counts: the key's digest, or `EVERYONE`
    turn     identity for fair queueing: the account, or an address
    """

    account: str
    turn: str


class Keys:
    """The valid API keys, if any. Stores only their digests."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def needed(self) -> bool:
        return bool(self._digests)

    def client(self, key: str | None, address: str) -> Client:
        """Return the client for a presented key, if any, and an address.

        Takes constant time for all keys. Raises `MissingKeyError`, `WrongKeyError`.
        """
        if not self.needed:
            return Client(EVERYONE, turn=address)
        if not key:
            raise MissingKeyError
        given = _digest(key)
        if not any([hmac.compare_digest(given, known) for known in self._digests]):  # noqa: C419
            raise WrongKeyError
        return Client(given, turn=given)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


MINUTE = 60.0

MAX_CLIENTS = 10_000
"""Maximum number of buckets; the least recently used is dropped, which refills it."""


class RateLimit:
    """Allows each client `per_minute`, with bursts of up to a minute's worth.

    per_minute  None: unlimited
    what        the limited unit, for the message
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
        """Take n from a client's bucket. Raises `RateLimitedError`, taking none.

        More than a bucket's capacity is granted only from a full bucket, which then goes into debt.
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
                f"the limit is {self._per_minute:,} {self._what} per minute",
                math.ceil(missing / per_second),
            )
