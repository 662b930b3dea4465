"""Where the time of a request went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields


@dataclass
class Timings:
    """Seconds per stage; of texts that were worked on side by side, the longest."""

    tokenize: float = 0.0
    queue: float = 0.0
    decode: float = 0.0
    detokenize: float = 0.0

    def add_longest(self, others: Sequence[Timings]) -> None:
        """Add those of works done side by side: of each stage the longest."""
        for field in fields(self):
            longest = max(getattr(other, field.name) for other in others)
            setattr(self, field.name, getattr(self, field.name) + longest)

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, stage, getattr(self, stage) + time.perf_counter() - began)
