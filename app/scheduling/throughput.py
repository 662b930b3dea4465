"""An engine's recent throughput, for forecasts only."""

import math


class Throughput:
    """Seconds of engine time per source token; values older than `MEMORY` have little weight."""

    MEMORY = 10.0
    """Seconds of work after which past values have weight 1/e."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._tokens = 0.0

    @property
    def seconds_per_token(self) -> float:
        """Return the average; 0 while unknown."""
        return self._seconds / self._tokens if self._tokens else 0.0

    def worked(self, seconds: float) -> None:
        fading = math.exp(-seconds / self.MEMORY)
        self._seconds = fading * self._seconds + seconds
        self._tokens *= fading

    def finished(self, tokens: int) -> None:
        self._tokens += tokens
