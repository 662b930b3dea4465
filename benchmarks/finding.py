"""A measured value and its required bound."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import Cell


@dataclass(frozen=True)
class Finding:
    """One measure of one scenario; with `least`, the bound is a lower bound.

    rounds  the values of the rounds, of which `seen` is the median
    """

    scenario: str
    measure: str
    seen: float
    bound: float
    least: bool = False
    rounds: Sequence[float] = ()

    @classmethod
    def of_rounds(
        cls, scenario: str, measure: str, rounds: Sequence[float], bound: float, least: bool = False
    ) -> Finding:
        """Return the median of several rounds."""
        return cls(scenario, measure, statistics.median(rounds), bound, least, rounds)

    @property
    def holds(self) -> bool:
        """Whether the bound holds."""
        return self.seen >= self.bound if self.least else self.seen <= self.bound

    def row(self) -> dict[str, Cell]:
        """Return the row of the table."""
        return {
            "Scenario": self.scenario,
            "Measure": self.measure,
            "Seen": self.seen,
            "Rounds": " ".join(f"{one:.0f}" for one in sorted(self.rounds)),
            "Must be": f"{'≥' if self.least else '≤'} {self.bound:g}",
            "Holds": "yes" if self.holds else "NO",
        }
