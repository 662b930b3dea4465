"""A fair queue: two lanes, each fair between clients and between their requests.

    interactive ─┬─ client ─┬─ request ── segment, segment, …
    bulk         └─ …       └─ …

Clients, and the requests of each client, take turns by deficit round robin (Shreedhar and Varghese
1995), counted in source tokens. So a list of 500 segments delays others by at most its turn, which
is at most `QUANTUM` tokens and a segment. The interactive lane has priority, but every
`BULK_SHARE`th segment is from the bulk lane while both wait.

A pure data structure: no clock, no lock, no torch.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Generic, Literal, Protocol, TypeVar

Lane = Literal["interactive", "bulk"]

QUANTUM = 64
"""Source tokens per turn; the rest is carried over to the next."""

BULK_SHARE = 8
"""Every 8th segment is from the bulk lane while both lanes wait."""


@dataclass(eq=False, slots=True)
class Caller:
    """A request, whose items take turns with those of others.

    client  takes turns with other clients; None: a client of its own
    """

    client: Hashable = None
    lane: Lane = "interactive"


class Waiter:
    """An item of a request that waits for its turn; `n_tokens` is its cost."""

    __slots__ = ("n_tokens", "request")
    request: Caller
    n_tokens: int

    @property
    def lane(self) -> Lane:
        return self.request.lane

    @property
    def client(self) -> Hashable:
        return self.request if self.request.client is None else self.request.client


W = TypeVar("W", bound=Waiter)


class _Queue(Protocol[W]):
    """A queue that takes turns with others. `head` is stable until it is removed."""

    def __len__(self) -> int: ...

    def add(self, waiter: W) -> None: ...

    def head(self) -> W: ...

    def remove(self, waiter: W, cost: int) -> None: ...


class _Line(OrderedDict[W, None], Generic[W]):
    """The segments of one request, in order. The first key of a `dict` is not found in O(1)."""

    def add(self, waiter: W) -> None:
        self[waiter] = None

    def head(self) -> W:
        return next(iter(self))

    def remove(self, waiter: W, cost: int) -> None:  # noqa: ARG002
        del self[waiter]


class _Round(Generic[W]):
    """Deficit round robin between queues, which are added when non-empty and removed when empty."""

    def __init__(self, key: Callable[[W], Hashable], new_queue: Callable[[], _Queue[W]]) -> None:
        self._key = key
        self._new_queue = new_queue
        self._queues: OrderedDict[Hashable, _Queue[W]] = OrderedDict()
        self._credit: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, waiter: W) -> None:
        key = self._key(waiter)
        if key not in self._queues:
            self._queues[key] = self._new_queue()
            self._credit[key] = QUANTUM
        self._queues[key].add(waiter)

    def head(self) -> W:
        while True:
            key, queue = next(iter(self._queues.items()))
            waiter = queue.head()
            if waiter.n_tokens <= self._credit[key]:
                return waiter
            self._credit[key] += QUANTUM
            self._queues.move_to_end(key)

    def remove(self, waiter: W, cost: int) -> None:
        key = self._key(waiter)
        self._queues[key].remove(waiter, cost)
        self._credit[key] -= cost
        if not self._queues[key]:
            del self._queues[key], self._credit[key]


class FairQueue(Generic[W]):
    """Both lanes. `len` is the number of segments, `n_tokens` their source tokens.

    n_bulk_tokens  of these, those of the bulk lane
    """

    def __init__(self) -> None:
        self.n_tokens = 0
        self.n_bulk_tokens = 0
        self._everyone: dict[W, None] = {}
        by_request = partial(_Round[W], attrgetter("request"), _Line[W])
        self._interactive = _Round[W](attrgetter("client"), by_request)
        self._bulk = _Round[W](attrgetter("client"), by_request)
        self._since_bulk = 0  # taken from the interactive lane while the bulk lane waited

    def __len__(self) -> int:
        return len(self._everyone)

    def add(self, waiter: W) -> None:
        """Add after others of the same request."""
        self._everyone[waiter] = None
        self._lane_of(waiter).add(waiter)
        self._count(waiter, waiter.n_tokens)

    def heads(self) -> Iterator[W]:
        """Yield the next, and if that is of the bulk lane, the next of the interactive one.

        Within a lane it stays the next until it is taken or discarded.
        """
        if self._bulk and (not self._interactive or self._since_bulk >= BULK_SHARE - 1):
            yield self._bulk.head()
        if self._interactive:
            yield self._interactive.head()

    def take(self, waiter: W | None = None) -> W:
        """Remove and return one of `heads`, by default the first; charge its client and request."""
        waiter = next(self.heads()) if waiter is None else waiter
        if waiter.lane == "bulk":
            self._since_bulk = 0
        elif self._bulk:
            self._since_bulk += 1
        self._remove(waiter, waiter.n_tokens)
        return waiter

    def discard(self, waiter: W) -> bool:
        """Remove without charging; return whether it was waiting."""
        if waiter not in self._everyone:
            return False
        self._remove(waiter, 0)
        return True

    def clear(self) -> list[W]:
        everyone = list(self._everyone)
        for waiter in everyone:
            self._remove(waiter, 0)
        return everyone

    def _remove(self, waiter: W, cost: int) -> None:
        del self._everyone[waiter]
        self._lane_of(waiter).remove(waiter, cost)
        self._count(waiter, -waiter.n_tokens)

    def _count(self, waiter: W, n_tokens: int) -> None:
        self.n_tokens += n_tokens
        if waiter.lane == "bulk":
            self.n_bulk_tokens += n_tokens

    def _lane_of(self, waiter: W) -> _Round[W]:
        return self._bulk if waiter.lane == "bulk" else self._interactive
