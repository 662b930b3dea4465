import asyncio
import time
from pathlib import Path

import pytest

from benchmarks import clients, overload
from benchmarks.clients import PROBE_INTERVAL, ClientPool, Probes, probing
from benchmarks.load import Load, Outcome, percentile, request_bytes
from benchmarks.options import Setup
from benchmarks.overload import Finding, Overload
from benchmarks.sentences import FIXTURE
from benchmarks.server import Server, free_port, running
from tests.benchmarks.test_load import FakeServer


def test_a_bound_is_from_above_or_from_below() -> None:
    assert Finding("a", "b", [5], 5).holds
    assert not Finding("a", "b", [5.1], 5).holds
    assert not Finding("a", "b", [float("inf")], 5).holds
    least = Finding("a", "b", [4.9], 5, least=True)
    assert least.row() == {
        "Scenario": "a", "Measure": "b", "Seen": 4.9, "Rounds": "", "Must be": "≥ 5", "Holds": "NO",
    }  # fmt: skip


def test_the_median_of_rounds_counts() -> None:
    rounds = (97.0, 80.0, 91.4)
    finding = Finding("a", "b", rounds, 90, least=True)
    assert (finding.median, finding.holds) == (91.4, True)
    assert finding.row()["Rounds"] == "80 91 97"
    assert not Finding("a", "b", rounds, 90).holds


def test_p99_of_few_and_of_failures() -> None:
    assert percentile([]) == 0
    assert percentile([0.5]) == 500
    assert percentile([0.0] * 50 + [float("inf")] * 50) == float("inf")


@pytest.mark.parametrize("stay", [False, True])
def test_a_pool_of_clients_counts_statuses(stay: bool) -> None:
    async def ask() -> ClientPool:
        answering = FakeServer(seconds=0.005)
        server = await asyncio.start_server(answering.serve, "127.0.0.1", 0)
        requests = [request_bytes({"text": text}) for text in ("a", "refuse")]
        pool = ClientPool(server.sockets[0].getsockname()[1], requests)
        async with pool.run(2, stay=stay):
            while min(len(pool.latencies), pool.statuses["429"]) <= 2:
                await asyncio.sleep(0.01)
        server.close()
        return pool

    pool = asyncio.run(ask())
    assert pool.statuses["200"] == len(pool.latencies) > 2
    assert pool.n_errors == pool.statuses["429"] > 2


def test_goodput_is_relative_to_the_peaks_around_it() -> None:
    outcome = Outcome(
        110.0, 1.0, 2.0, 3.0, answered=540, errors={"429": 7, "504": 1, "500": 2, "EOFError": 3}
    )
    one = Overload(outcome, Probes(0), around=(90.0, 110.0), seconds=6.0)
    assert one.goodput == pytest.approx(90)  # 540 in 6 s, of 100 a second
    assert one.n_wrong == 5


def test_overloads_are_multiples_of_a_peak(monkeypatch: pytest.MonkeyPatch, stub: Server) -> None:
    """Three kinds, two rounds, 6 s each at the requested rate, with drifting peaks."""
    peaks, rates = iter([100.0, 110.0, 90.0, 100.0, 120.0, 80.0, 100.0]), list[float]()

    def put(load: Load) -> Outcome:
        if load.clients:
            return Outcome(next(peaks), 1.0, 1.0, 1.0, 9)
        assert load.rate
        assert load.warm_up == overload.ONSET
        time.sleep(3 * PROBE_INTERVAL)
        rates.append(load.rate)
        return Outcome(9.0, 1.0, 1.0, 99.0 + len(rates), answered=540, errors={"429": 9})

    monkeypatch.setattr(overload, "put", put)
    monkeypatch.setattr(overload, "ONSET", 0.0)
    monkeypatch.setattr(clients, "DRIP_INTERVAL", 0.05)
    monkeypatch.setattr(Setup, "server", lambda *_: stub)
    monkeypatch.setattr(overload, "request_fields", lambda *_: {})
    monkeypatch.setattr(overload, "ROUNDS", 2)
    findings = overload.overload(Setup(Path(), FIXTURE, 1, "auto", None), 6.0)
    assert rates == [200, 550, 180, 200, 600, 160]
    goodput = [one for one in findings if one.measure.startswith("goodput")]
    assert [one.scenario for one in goodput] == [
        "2 × 100 requests/s", "5 × 100 requests/s", "2 × 100 requests/s, 200 slow connections",
    ]  # fmt: skip
    assert [list(one.rounds) for one in goodput] == [
        pytest.approx([90 / 1.05, 90 / 1.1]),
        pytest.approx([90.0, 90.0]),
        pytest.approx([90 / 0.95, 100.0]),
    ]
    admitted = [one.median for one in findings if one.measure.startswith("admitted")]
    assert admitted == [101.5, 102.5, 103.5]


def test_early_probes_can_be_omitted(stub: Server) -> None:
    with running(stub) as one, probing(one.port) as probes:
        while len(probes.seconds) < 5:
            time.sleep(0.01)
    assert 0 < max(probes.seconds) < float("inf")
    assert probes.after(0) == probes.seconds
    assert probes.after(0.1) == probes.seconds[-len(probes.after(0.1)) :] != probes.seconds


def test_a_probe_without_a_server_fails() -> None:
    probes = Probes(port=free_port())
    probes.probe()
    assert probes.seconds == [float("inf")]
