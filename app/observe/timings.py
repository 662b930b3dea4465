"""The time of a request by stage."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


class _Measured:
    """Measures a block. (A generator-based context manager would cost three times as much.)"""

    __slots__ = ("_began", "_stage", "_timings")

    def __init__(self, timings: object, stage: str) -> None:
        self._timings = timings
        self._stage = stage

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._began
        setattr(self._timings, self._stage, getattr(self._timings, self._stage) + seconds)


@dataclass(slots=True)
class Timings:
    """Seconds per stage; the maximum over concurrent texts."""

    tokenize: float = 0.0
    queue: float = 0.0
    decode: float = 0.0
    detokenize: float = 0.0

    def add_longest(self, others: Sequence[Self]) -> None:
        """Add the maximum of each stage over concurrent tasks."""
        each = [(one.tokenize, one.queue, one.decode, one.detokenize) for one in others]
        tokenize, queue, decode, detokenize = map(max, zip(*each, strict=True))
        self.tokenize += tokenize
        self.queue += queue
        self.decode += decode
        self.detokenize += detokenize

    def measure(self, stage: str) -> _Measured:
        return _Measured(self, stage)
