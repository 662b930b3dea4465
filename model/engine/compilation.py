"""How far the compilation of kernels is, for those who wait for it. Without numba."""

import time

EXPECTED_SECONDS = 60.0
"""Assumed for the whole until the pace shows."""

WEIGHT = 0.1
"""Fraction of the whole as which the assumption counts."""


class Progress:
    """The compilation that this process waits for, if any.

    fraction  done, 0 … 1
    """

    def __init__(self) -> None:
        self.fraction = 0.0
        self._since: float | None = None

    def start(self) -> None:
        """A compilation starts."""
        self.fraction, self._since = 0.0, time.monotonic()

    def end(self) -> None:
        """It has ended."""
        self._since = None

    @property
    def seconds_left(self) -> float | None:
        """Forecast by the pace so far; None if nothing is compiled."""
        if self._since is None:
            return None
        seconds = time.monotonic() - self._since + WEIGHT * EXPECTED_SECONDS
        return seconds * (1 - self.fraction) / (self.fraction + WEIGHT)


COMPILATION = Progress()
"""That of this process."""
