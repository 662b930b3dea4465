"""Where the time of a request went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Timings:
    """Seconds per stage; of texts that were worked on side by side, the longest."""

    tokenize: float = 0.0
    queue: float = 0.0
    decode: float = 0.0
    detokenize: float = 0.0

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, stage, getattr(self, stage) + time.perf_counter() - began)
