"""Checks that time is linear in the size of the input, also on a busy machine."""

import time
from collections.abc import Callable

TIMES = 8
TOLERANCE = 3.0
"""A quadratic function takes `TIMES` times as long as a linear one, and so fails."""

MIN_SECONDS = 0.02
"""Seconds below which nothing is compared."""

TRIALS = 3


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that the best time of `work(size)` is less than `TOLERANCE · TIMES` that of an eighth.

    Processor time of this thread is measured, which other threads and processes hardly affect.
    """
    work(1)  # caches, compiled expressions
    small = min(_seconds(work, max(size // TIMES, 1)) for _ in range(TRIALS))
    limit = max(MIN_SECONDS, TOLERANCE * TIMES * small)
    best = float("inf")
    for _ in range(TRIALS):
        best = min(best, _seconds(work, size))
        if best < limit:
            return
    raise AssertionError(f"{best:.3f} s at {size}, but {small:.3f} s at {size // TIMES}")


def _seconds(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began
