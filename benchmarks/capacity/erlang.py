"""What queueing theory says of one replica, and how many replicas that makes (docs/deploy.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass


def erlang_c(servers: int, offered: float) -> float:
    """The probability that an arrival has to wait in M/M/c (Erlang 1917).

    offered  arrivals per second times seconds of service: the servers that would be busy; raises
             `ValueError` unless it is below their number, since no queue is stable otherwise
    """
    if not 0 <= offered < servers:
        raise ValueError("the offered load must be below the number of servers")
    blocked = 1.0  # Erlang B, from no server on
    for n in range(1, servers + 1):
        blocked = offered * blocked / (n + offered * blocked)
    return blocked / (1 - (offered / servers) * (1 - blocked))


def mean_wait(servers: int, arrivals: float, service: float) -> float:
    """Seconds that an arrival waits on average; `arrivals` per second, `service` in seconds."""
    offered = arrivals * service
    return erlang_c(servers, offered) * service / (servers - offered)


@dataclass(frozen=True)
class Cost:
    """What a request costs, as `python -m benchmarks.cost` measures it.

    per_request  seconds of a core for HTTP, tokenising, queueing and JSON
    per_token    seconds of a core for one target token
    """

    per_request: float
    per_token: float

    def core_seconds(self, target_tokens: float) -> float:
        """Seconds of a core for a request with so many target tokens."""
        return self.per_request + self.per_token * target_tokens

    def replicas(
        self, rate: float, target_tokens: float, cores: int = 2, utilisation: float = 0.6
    ) -> int:
        """Replicas for `rate` requests a second, with cores busy for that part of the time."""
        return math.ceil(rate * self.core_seconds(target_tokens) / (cores * utilisation))


MEASURED = {4: Cost(0.5e-3, 155e-6), 1: Cost(0.85e-3, 73e-6)}
"""By beam: the shipped checkpoint in int8, within 15 % of the table in docs/deploy.md."""
