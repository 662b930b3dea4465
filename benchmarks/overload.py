"""Throughput of an overloaded server, and how fast it rejects requests.

Since the machine's speed drifts, the peak is measured before and after each overload, in several
rounds.
"""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benchmarks.clients import Probes, probing, slow_loris
from benchmarks.load import Load, Outcome, percentile, put
from benchmarks.options import Setup
from benchmarks.report import Cell
from benchmarks.server import request_fields, running

COLUMNS = {
    "Scenario": "", "Measure": "", "Seen": ",.1f", "Rounds": "", "Must be": "", "Holds": "",
}  # fmt: skip
NOTES = ("`Rounds`: the sorted values of the rounds, if `Seen` is their median.",)

BEAM, CLIENTS, ROUNDS = 4, 32, 5

DEADLINE = 5.0
"""Seconds within which all admitted requests are answered."""

PROBE_TIMEOUT = 1000
"""Milliseconds; Kubernetes' default."""

ONSET = 3.0
"""Seconds in which an overload fills the queue. Only the longest probe includes them."""

CLIENT_NICENESS = 10
"""Added niceness of the overloading client, which here shares the server's processor."""

ACCEPTABLE = ("200", "429", "503", "504")


@dataclass(frozen=True)
class Finding:
    """A measure of a scenario and its bound, which is a lower bound if `least`."""

    scenario: str
    measure: str
    rounds: Sequence[float]
    bound: float
    least: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def holds(self) -> bool:
        return self.median >= self.bound if self.least else self.median <= self.bound

    def row(self) -> dict[str, Cell]:
        several = sorted(self.rounds) if len(self.rounds) > 1 else ()
        bound = f"{'≥' if self.least else '≤'} {self.bound:g}"
        rounds = " ".join(f"{one:.0f}" for one in several)
        holds = "yes" if self.holds else "NO"
        values = (self.scenario, self.measure, self.median, rounds, bound, holds)
        return dict(zip(COLUMNS, values, strict=True))


@dataclass(frozen=True)
class Kind:
    """A multiple of the peak, with a number of connections whose headers never end."""

    factor: int
    n_slow: int = 0

    def scenario(self, peak: float) -> str:
        beside = f", {self.n_slow} slow connections" if self.n_slow else ""
        return f"{self.factor} × {peak:.0f} requests/s{beside}"


KINDS = (Kind(2), Kind(5), Kind(2, n_slow=200))


@dataclass(frozen=True)
class Overload:
    """One overload; `around` are the peaks before and after it, requests/s."""

    outcome: Outcome
    probes: Probes
    around: tuple[float, float]
    seconds: float

    @property
    def goodput(self) -> float:
        return 100 * self.outcome.answered / self.seconds / statistics.mean(self.around)

    @property
    def n_wrong(self) -> int:
        """Responses with a status not in `FINE`, and connection failures."""
        return sum(n for status, n in self.outcome.errors.items() if status not in ACCEPTABLE)


def overload(setup: Setup, seconds: float) -> list[Finding]:
    """Open loop at multiples of the capacity, once with additional slow connections."""
    with running(setup.server("--request-timeout", str(DEADLINE))) as server:
        load = Load(
            server.port, setup.texts(), request_fields(setup.checkpoint, BEAM), CLIENTS,
            seconds=seconds, niceness=CLIENT_NICENESS,
        )  # fmt: skip
        peaks = [put(load).per_second]
        overloads: list[Overload] = []
        for kind in KINDS * ROUNDS:
            before = peaks[-1]
            outcome, probes = _overload(load, kind, before)
            after = put(load).per_second
            peaks.append(after)
            overloads.append(Overload(outcome, probes, (before, after), seconds))
    return [
        finding
        for index, kind in enumerate(KINDS)
        for finding in _findings(
            kind.scenario(statistics.median(peaks)), overloads[index :: len(KINDS)]
        )
    ]


def _overload(load: Load, kind: Kind, peak: float) -> tuple[Outcome, Probes]:
    with ExitStack() as stack:
        probes = stack.enter_context(probing(load.port))
        if kind.n_slow:
            stack.enter_context(slow_loris(load.port, kind.n_slow))
        outcome = put(replace(load, clients=None, rate=kind.factor * peak, warm_up=ONSET))
    return outcome, probes


def _findings(scenario: str, overloads: Sequence[Overload]) -> list[Finding]:
    outcomes = [one.outcome for one in overloads]
    probes = [seconds for one in overloads for seconds in one.probes.after(ONSET)]
    longest = max(max(one.probes.seconds) for one in overloads)
    goodputs = [one.goodput for one in overloads]
    n_wrong = sum(one.n_wrong for one in overloads)
    return [
        Finding(scenario, "client late p99, ms", [one.late_p99 for one in outcomes], 25),
        Finding(scenario, "goodput, % of the peak", goodputs, 90, least=True),
        Finding(scenario, "admitted p99, ms", [one.p99 for one in outcomes], 1000 * DEADLINE),
        Finding(scenario, "refused p99, ms", [one.refused_p99 for one in outcomes], 50),
        Finding(scenario, "/livez p99 of all rounds, ms", [percentile(probes)], 50),
        Finding(scenario, "/livez longest, ms", [1000 * longest], PROBE_TIMEOUT),
        Finding(scenario, f"other than {', '.join(ACCEPTABLE)}", [n_wrong], 0),
    ]
