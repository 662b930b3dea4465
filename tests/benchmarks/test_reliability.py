from __future__ import annotations

import asyncio
import time

import pytest

from benchmarks.crowd import Crowd, Probes, p99, probing
from benchmarks.finding import Finding
from benchmarks.load import request_bytes
from benchmarks.poison import PoisonedEngine
from benchmarks.server import Server, free_port, running
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job
from tests.app.fake_engine import FakeEngine
from tests.benchmarks.test_load import Answering


def test_a_bound_is_from_above_or_from_below() -> None:
    assert Finding("a", "b", 5, 5).holds
    assert not Finding("a", "b", 5.1, 5).holds
    assert not Finding("a", "b", float("inf"), 5).holds
    least = Finding("a", "b", 4.9, 5, least=True)
    assert least.row() == {
        "Scenario": "a", "Measure": "b", "Seen": 4.9, "Must be": "≥ 5", "Holds": "NO",
    }  # fmt: skip


def test_p99_of_few_and_of_failures() -> None:
    assert p99([]) == 0
    assert p99([0.5]) == 500
    assert p99([0.0] * 50 + [float("inf")] * 50) == float("inf")


@pytest.mark.parametrize("stay", [False, True])
def test_a_crowd_counts_what_it_gets(stay: bool) -> None:
    async def ask() -> Crowd:
        answering = Answering(seconds=0.005)
        server = await asyncio.start_server(answering.serve, "127.0.0.1", 0)
        requests = [request_bytes({"text": text}) for text in ("a", "refuse")]
        crowd = Crowd(server.sockets[0].getsockname()[1], requests)
        async with crowd.of(2, stay=stay):
            await asyncio.sleep(0.1)
        server.close()
        return crowd

    crowd = asyncio.run(ask())
    assert crowd.statuses["200"] == len(crowd.latencies) > 2
    assert crowd.n_errors == crowd.statuses["429"] > 2


def test_a_poisoned_engine_raises_as_long_as_the_poison_is_in_it() -> None:
    engine = PoisonedEngine(FakeEngine(n_steps=1), [2, 14, 0])
    fine, poison = (Job(i, (2, name, 0), SearchOptions()) for i, name in enumerate((11, 14)))
    engine.admit([fine, poison])
    with pytest.raises(RuntimeError, match="poisoned"):
        engine.step()
    assert not engine.busy
    engine.admit([fine])
    assert [done.job_id for done in engine.step()] == [0]


def test_probes_that_began_early_can_be_left_out(stub: Server) -> None:
    with running(stub) as one, probing(one.port) as probes:
        while len(probes.seconds) < 5:
            time.sleep(0.01)
    assert 0 < max(probes.seconds) < 5
    assert probes.after(0) == probes.seconds
    assert probes.after(0.1) == probes.seconds[-len(probes.after(0.1)) :] != probes.seconds


def test_a_probe_of_nobody_fails() -> None:
    probes = Probes(port=free_port())
    probes.probe()
    assert probes.seconds == [float("inf")]
