"""How fast an engine was recently, for forecasts only."""

from __future__ import annotations

import math


class Throughput:
    """Seconds of engine time per source token; what is older than `MEMORY` counts little."""

    MEMORY = 10.0
    """Seconds of work after which the past counts 1/e: many segments, and soon over."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._tokens = 0.0

    @property
    def seconds_per_token(self) -> float:
        """0 as long as nothing is known."""
        return self._seconds / self._tokens if self._tokens else 0.0

    def worked(self, seconds: float) -> None:
        """A step took this long."""
        fading = math.exp(-seconds / self.MEMORY)
        self._seconds = fading * self._seconds + seconds
        self._tokens *= fading

    def finished(self, tokens: int) -> None:
        """It finished a segment of that many source tokens."""
        self._tokens += tokens
