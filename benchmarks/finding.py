"""What a benchmark saw, against what must be."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import Cell


@dataclass(frozen=True)
class Finding:
    """One measure of one scenario; with `least`, the bound is from below.

    rounds  what each saw, where `seen` is their median
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
        """The median of several."""
        return cls(scenario, measure, statistics.median(rounds), bound, least, rounds)

    @property
    def holds(self) -> bool:
        """Whether it is as it must be."""
        return self.seen >= self.bound if self.least else self.seen <= self.bound

    def row(self) -> dict[str, Cell]:
        """For the table."""
        return {
            "Scenario": self.scenario,
            "Measure": self.measure,
            "Seen": self.seen,
            "Rounds": " ".join(f"{one:.0f}" for one in sorted(self.rounds)),
            "Must be": f"{'≥' if self.least else '≤'} {self.bound:g}",
            "Holds": "yes" if self.holds else "NO",
        }
