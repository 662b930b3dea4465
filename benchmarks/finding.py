"""What a benchmark saw, against what must be."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.report import Cell


@dataclass(frozen=True)
class Finding:
    """One measure of one scenario; with `least`, the bound is from below."""

    scenario: str
    measure: str
    seen: float
    bound: float
    least: bool = False

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
            "Must be": f"{'≥' if self.least else '≤'} {self.bound:g}",
            "Holds": "yes" if self.holds else "NO",
        }
