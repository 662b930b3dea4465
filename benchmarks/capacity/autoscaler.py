"""How many replicas there should be: the rule of Kubernetes' autoscaler, as KEDA feeds it.

The same numbers as in deploy/kubernetes/queue/scaledobject.yaml; a test compares them.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """When to have how many replicas; durations in seconds.

    target           requests admitted per replica, on average
    start_delay      from the decision until a replica takes requests: a node, the image, the start
    grow_factor      in `grow_period` it may double, and …
    grow_by          … or grow by so many, whichever is more
    shrink_factor    in `shrink_period` it may lose that part
    stabilisation    it shrinks to no less than what was wanted at any time within so long
    tolerance        a difference from the target that is left alone
    """

    target: float = 32
    minimum: int = 2
    maximum: int = 1000
    period: float = 15
    start_delay: float = 60
    grow_factor: float = 1.0
    grow_by: int = 4
    grow_period: float = 15
    shrink_factor: float = 0.1
    shrink_period: float = 60
    stabilisation: float = 300
    tolerance: float = 0.1


class Autoscaler:
    """Decides from what it is told every `Policy.period` seconds."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._wanted: deque[tuple[float, int]] = deque()
        self._sizes: deque[tuple[float, int]] = deque()

    def decide(self, now: float, admitted: int, size: int) -> int:
        """How many replicas there should be from now on.

        admitted  requests in all replicas, waiting and worked on
        size      replicas there are, those that are still starting included
        """
        policy = self._policy
        wanted = math.ceil(admitted / policy.target)
        if abs(admitted / policy.target - size) <= policy.tolerance * size:
            wanted = size
        wanted = min(max(wanted, policy.minimum), policy.maximum)
        self._wanted.append((now, wanted))
        while self._wanted[0][0] < now - policy.stabilisation:
            self._wanted.popleft()
        if wanted < size:
            wanted = min(size, max(earlier for _, earlier in self._wanted))
        self._sizes.append((now, size))
        while self._sizes[0][0] < now - max(policy.grow_period, policy.shrink_period):
            self._sizes.popleft()
        smallest = min(
            (old for at, old in self._sizes if at > now - policy.grow_period), default=size
        )
        largest = max(
            (old for at, old in self._sizes if at > now - policy.shrink_period), default=size
        )
        ceiling = max(math.ceil(smallest * (1 + policy.grow_factor)), smallest + policy.grow_by)
        floor = math.floor(largest * (1 - policy.shrink_factor))
        return min(max(wanted, min(floor, size)), max(ceiling, size))
