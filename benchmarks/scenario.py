"""What the scenarios of `benchmarks.reliability` have in common."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import request_bytes
from benchmarks.report import Cell
from benchmarks.server import Server, attend_server, request_fields

CLIENTS = 32

DEADLINE = 5.0
"""Seconds within which all admitted requests are answered."""

PROBE_TIMEOUT = 1000
"""Milliseconds; Kubernetes' default."""


@dataclass(frozen=True)
class Setup:
    """The server and its requests.

    texts    one sentence each
    threads  threads of the server
    seconds  duration of a load
    rounds   repetitions of loads whose rates are compared
    """

    checkpoint: Path
    texts: Sequence[str]
    threads: int
    seconds: float
    rounds: int

    @property
    def fields(self) -> dict[str, str | int]:
        """Fields of a request, besides its text."""
        return request_fields(self.checkpoint, beam=4)

    @property
    def requests(self) -> list[bytes]:
        """Requests of one sentence each."""
        return [request_bytes({"text": text, **self.fields}) for text in self.texts]

    def server(self, *flags: str) -> Server:
        """Return `attend serve`."""
        return attend_server(self.checkpoint, self.threads, "auto", *flags)


@dataclass(frozen=True)
class Finding:
    """A measure of a scenario and its bound, which is a lower bound if `least`."""

    scenario: str
    measure: str
    rounds: Sequence[float]
    bound: float
    least: bool = False

    @property
    def seen(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def holds(self) -> bool:
        """Whether the bound holds."""
        return self.seen >= self.bound if self.least else self.seen <= self.bound

    def row(self) -> dict[str, Cell]:
        """Return the row of the table."""
        several = sorted(self.rounds) if len(self.rounds) > 1 else ()
        return {
            "Scenario": self.scenario,
            "Measure": self.measure,
            "Seen": self.seen,
            "Rounds": " ".join(f"{one:.0f}" for one in several),
            "Must be": f"{'≥' if self.least else '≤'} {self.bound:g}",
            "Holds": "yes" if self.holds else "NO",
        }
