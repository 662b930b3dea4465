"""How fast the engine has been of late, for forecasts only."""

from __future__ import annotations


class Pace:
    """Seconds of engine time per source token, later steps counting more."""

    MEMORY = 0.9
    """What is left of the past after each step."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._tokens = 0.0

    @property
    def seconds_per_token(self) -> float:
        """0 as long as nothing is known."""
        return self._seconds / self._tokens if self._tokens else 0.0

    def worked(self, seconds: float) -> None:
        """A step took this long."""
        self._seconds = self.MEMORY * self._seconds + seconds
        self._tokens *= self.MEMORY

    def finished(self, tokens: int) -> None:
        """It finished a sentence of that many source tokens."""
        self._tokens += tokens
