"""A measure of a reliability test and its bound."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import Cell

COLUMNS = {
    "Scenario": "", "Measure": "", "Seen": ",.1f", "Rounds": "", "Must be": "", "Holds": "",
}  # fmt: skip
NOTES = ("`Rounds`: the sorted values of the rounds, if `Seen` is their median.",)


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
        return statistics.median(self.rounds)

    @property
    def holds(self) -> bool:
        return self.seen >= self.bound if self.least else self.seen <= self.bound

    def row(self) -> dict[str, Cell]:
        several = sorted(self.rounds) if len(self.rounds) > 1 else ()
        bound = f"{'≥' if self.least else '≤'} {self.bound:g}"
        rounds = " ".join(f"{one:.0f}" for one in several)
        holds = "yes" if self.holds else "NO"
        values = (self.scenario, self.measure, self.seen, rounds, bound, holds)
        return dict(zip(COLUMNS, values, strict=True))
