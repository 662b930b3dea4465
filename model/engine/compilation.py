"""How far the compilation of kernels is, for those who wait for it. Without numba."""

import time


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
        """Forecast by the pace so far; None if nothing is compiled, or while it is too early."""
        since = self._since
        if since is None or self.fraction < 0.02:
            return None
        return (time.monotonic() - since) * (1 - self.fraction) / self.fraction


COMPILATION = Progress()
"""That of this process."""
