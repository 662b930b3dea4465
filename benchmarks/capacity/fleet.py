"""A simulation of replicas behind a balancer, one event after the other.

    arrive ──▶ balancer ──▶ a replica's queue ──▶ one of its cores ──▶ answered
      ▲           └── full: 429, Retry-After ──┐        └── waited too long: 504
      └──────────── the client tries again ◀───┘

What is simplified: a request occupies one core for a time of its own (the server spreads its
sentences over engines), and the balancer sees queues as they are (a real one, with some delay).
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from benchmarks.capacity.autoscaler import Autoscaler, Policy

MAX_RETRY_AFTER = 60
"""Seconds; the server's own bound, `app.errors.MAX_RETRY_AFTER`."""


@dataclass(frozen=True)
class Workload:
    """Requests as they come, in a Poisson process whose rate changes at once.

    rates     (from second, requests per second) in order of time, the first from 0
    service   seconds of a core that a request takes, on average; exponentially distributed
    deadline  seconds of waiting after which a request is answered 504
    attempts  how often a client asks before it gives up; it waits as Retry-After says, and up to
              a quarter longer, so that clients do not come back all at once
    """

    rates: Sequence[tuple[float, float]]
    service: float
    deadline: float = 30.0
    attempts: int = 5


@dataclass(frozen=True)
class Replicas:
    """What each replica is; `places` bounds the requests in it, waiting and worked on.

    choices  replicas that the balancer looks at before it takes the emptiest: 1 is at random, as a
             Service of Kubernetes does, 2 as Ray Serve does
    """

    cores: int = 2
    places: float = 128
    choices: int = 2


@dataclass
class Interval:
    """What happened in some seconds; `waits` and `latencies` in seconds, from the first attempt."""

    start: float
    offered: int = 0
    answered: int = 0
    rejected: int = 0
    expired: int = 0
    given_up: int = 0
    ready: int = 0
    wanted: int = 0
    waits: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Request:
    first_asked: float
    asked: float
    attempts: int = 1


class _Replica:
    __slots__ = ("free", "waiting", "working")

    def __init__(self, cores: int) -> None:
        self.free = cores
        self.waiting: deque[_Request] = deque()
        self.working = 0

    @property
    def admitted(self) -> int:
        return len(self.waiting) + self.working


class Fleet:
    """One run; the same `seed` gives the same run. `run` may be called once."""

    def __init__(
        self, workload: Workload, replicas: Replicas, policy: Policy, *, start_with: int, seed: int
    ) -> None:
        self._workload = workload
        self._kind = replicas
        self._policy = policy
        self._autoscaler = Autoscaler(policy)
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[float, Any], None], Any]] = []
        self._order = count()
        self._ready = [_Replica(replicas.cores) for _ in range(start_with)]
        self._n_starting = 0
        self._wanted = start_with
        self.admitted = 0
        """Requests in all replicas, those that drain included."""
        self.admitted_seconds = 0.0
        """Their number over time, for its mean."""

    def run(self, seconds: float, resolution: float = 5.0) -> list[Interval]:
        """What happened, by intervals of `resolution` seconds."""
        intervals = [Interval(i * resolution) for i in range(math.ceil(seconds / resolution))]
        self._schedule(self._next_arrival(0.0), self._arrive)
        self._schedule(self._policy.period, self._decide)
        before = 0.0
        for index, interval in enumerate(intervals):
            self._interval = interval
            end = min((index + 1) * resolution, seconds)
            while self._events and self._events[0][0] < end:
                now, _, happen, subject = heapq.heappop(self._events)
                self.admitted_seconds += self.admitted * (now - before)
                before = now
                happen(now, subject)
            interval.ready, interval.wanted = len(self._ready), self._wanted
        self.admitted_seconds += self.admitted * (seconds - before)
        return intervals

    def _schedule(
        self, at: float, happen: Callable[[float, Any], None], subject: Any = None
    ) -> None:
        heapq.heappush(self._events, (at, next(self._order), happen, subject))

    def _next_arrival(self, now: float) -> float:
        """Memoryless: where the rate changes, the waiting for the next one begins anew."""
        rates = self._workload.rates
        for index, (start, rate) in enumerate(rates):
            end = rates[index + 1][0] if index + 1 < len(rates) else math.inf
            if now >= end or not rate:
                continue
            now = max(now, start)
            then = now + self._random.expovariate(rate)
            if then < end:
                return then
            now = end
        return math.inf

    def _arrive(self, now: float, _: None) -> None:
        self._interval.offered += 1
        self._schedule(self._next_arrival(now), self._arrive)
        self._ask(now, _Request(now, now))

    def _ask(self, now: float, request: _Request) -> None:
        kind = self._kind
        request.asked = now
        n_ready = len(self._ready)
        replica = self._ready[int(self._random.random() * n_ready)]
        for _ in range(kind.choices - 1):
            other = self._ready[int(self._random.random() * n_ready)]
            if other.admitted < replica.admitted:
                replica = other
        if replica.admitted >= kind.places:
            self._refuse(now, request, replica)
            return
        self.admitted += 1
        if replica.free:
            replica.free -= 1
            self._work(now, replica, request)
        else:
            replica.waiting.append(request)

    def _refuse(self, now: float, request: _Request, replica: _Replica) -> None:
        self._interval.rejected += 1
        if request.attempts >= self._workload.attempts:
            self._interval.given_up += 1
            return
        request.attempts += 1
        forecast = replica.admitted * self._workload.service / self._kind.cores
        retry_after = min(max(1, math.ceil(forecast)), MAX_RETRY_AFTER)
        self._schedule(now + retry_after * (1 + self._random.random() / 4), self._ask, request)

    def _work(self, now: float, replica: _Replica, request: _Request) -> None:
        replica.working += 1
        self._interval.waits.append(now - request.asked)
        service = self._random.expovariate(1 / self._workload.service)
        self._schedule(now + service, self._done, (replica, request))

    def _done(self, now: float, work: tuple[_Replica, _Request]) -> None:
        replica, request = work
        self._interval.answered += 1
        self._interval.latencies.append(now - request.first_asked)
        replica.working -= 1
        self.admitted -= 1
        while replica.waiting:
            following = replica.waiting.popleft()
            if now - following.asked <= self._workload.deadline:
                self._work(now, replica, following)
                return
            self._interval.expired += 1
            self.admitted -= 1
        replica.free += 1

    def _decide(self, now: float, _subject: None) -> None:
        self._schedule(now + self._policy.period, self._decide)
        size = len(self._ready) + self._n_starting
        self._wanted = self._autoscaler.decide(now, self.admitted, size)
        for _ in range(self._wanted - size):
            self._n_starting += 1
            delay = self._policy.start_delay * self._random.uniform(0.8, 1.2)
            self._schedule(now + delay, self._started)
        # Whoever is dropped finishes what it has; those that start are waited for.
        n_ready = max(self._policy.minimum, len(self._ready) - max(0, size - self._wanted))
        del self._ready[n_ready:]

    def _started(self, _now: float, _: None) -> None:
        self._n_starting -= 1
        self._ready.append(_Replica(self._kind.cores))
