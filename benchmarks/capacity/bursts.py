"""A burst of twenty times the load, against replicas that start soon, after a while, and late.

python -m benchmarks.capacity.bursts --plot docs/capacity.png

Prints a table and draws what docs/deploy.md shows; the same seed gives the same figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

from benchmarks.capacity.autoscaler import Policy
from benchmarks.capacity.erlang import MEASURED
from benchmarks.capacity.fleet import Fleet, Interval, Replicas, Workload

SENTENCES = 400
TOKENS_PER_SENTENCE = 11.3
"""Target tokens, of Tatoeba's sentences in docs/benchmarks.md."""

SERVICE = MEASURED[4].core_seconds(SENTENCES * TOKENS_PER_SENTENCE)
USUAL, BURST = 72.0, 1440.0
"""Requests a second; in the burst, the work of 500 replicas' cores."""
BEGIN, END, SECONDS = 120.0, 480.0, 900.0

WORKLOAD = Workload([(0, USUAL), (BEGIN, BURST), (END, USUAL)], SERVICE)
REPLICAS = Replicas(cores=2, places=43)
"""Whoever gets the last place waits 15 s, half of what the deadline allows."""
POLICY = Policy(target=4, period=5)
START_WITH = 42
"""What `USUAL` needs at 60 % of the cores' time."""


@dataclass(frozen=True)
class Outcome:
    """What came of one start delay, in seconds."""

    start_delay: float
    intervals: list[Interval]

    def total(self, field: str) -> int:
        """Over the whole run."""
        return sum(getattr(interval, field) for interval in self.intervals)

    @property
    def settled(self) -> float:
        """Seconds from the begin of the burst until nobody was refused for half a minute."""
        refused = [one.start for one in self.intervals if one.rejected and one.start < END]
        return (max(refused) - BEGIN + 5) if refused else 0.0


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p95; nothing makes nothing."""
    if len(seconds) < 2:
        return (0.0, 0.0)
    cuts = quantiles(seconds, n=20)
    return cuts[9], cuts[18]


def simulate(start_delay: float, seed: int = 1) -> Outcome:
    """One run."""
    policy = replace(POLICY, start_delay=start_delay)
    fleet = Fleet(WORKLOAD, REPLICAS, policy, start_with=START_WITH, seed=seed)
    return Outcome(start_delay, fleet.run(SECONDS))


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown."""
    lines = [
        "| starts after | most replicas | 429 until | asked | answered | 429s "
        "| gave up | 504 | p50 s | p95 s |",
        "| ---: |" + " ---: |" * 9,
    ]
    for outcome in outcomes:
        latencies = [one for interval in outcome.intervals for one in interval.latencies]
        p50, p95 = percentiles(latencies)
        offered = outcome.total("offered")
        lines.append(
            f"| {outcome.start_delay:.0f} s | {max(one.ready for one in outcome.intervals):,} "
            f"| {outcome.settled:.0f} s | {offered:,} "
            f"| {outcome.total('answered') / offered:.1%} | {outcome.total('rejected'):,} "
            f"| {outcome.total('given_up') / offered:.1%} "
            f"| {outcome.total('expired') / offered:.1%} | {p50:.1f} | {p95:.1f} |"
        )
    return "\n".join(lines)


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """One column for each run: requests, replicas, latency."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    grid = figure.subplots(3, len(outcomes), sharex=True, sharey="row")
    for column, outcome in enumerate(outcomes):
        requests, replicas, latency = (row[column] for row in grid)
        times = [interval.start for interval in outcome.intervals]
        per_second = {
            name: [getattr(interval, field) / 5 for interval in outcome.intervals]
            for name, field in (("asked", "offered"), ("answered", "answered"), ("429", "rejected"))
        }
        for name, values in per_second.items():
            requests.plot(times, values, label=name, linewidth=1)
        replicas.plot(times, [one.wanted for one in outcome.intervals], label="wanted", linewidth=1)
        replicas.plot(times, [one.ready for one in outcome.intervals], label="ready", linewidth=1)
        both = [percentiles(interval.latencies) for interval in outcome.intervals]
        latency.plot(times, [p50 for p50, _ in both], label="p50", linewidth=1)
        latency.plot(times, [p95 for _, p95 in both], label="p95", linewidth=1)
        requests.set_title(f"replicas start after {outcome.start_delay:.0f} s")
        latency.set_xlabel("seconds")
    for row, title in zip(
        grid, ("requests/s", "replicas", "seconds from first\nattempt to answer"), strict=True
    ):
        row[0].set_ylabel(title)
        row[0].legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=80)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plot", type=Path, help="PNG or SVG to write; needs the extra plot")
    parser.add_argument("--delays", type=float, nargs="+", default=[10.0, 60.0, 180.0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    outcomes = [simulate(delay, options.seed) for delay in options.delays]
    print(table(outcomes))  # noqa: T201
    if options.plot:
        draw(outcomes, options.plot)


if __name__ == "__main__":
    main()
