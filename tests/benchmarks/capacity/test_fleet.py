from __future__ import annotations

import math
from statistics import fmean

import pytest

from app.errors import MAX_RETRY_AFTER as SERVERS_BOUND
from benchmarks.capacity.autoscaler import Policy
from benchmarks.capacity.erlang import mean_wait
from benchmarks.capacity.fleet import MAX_RETRY_AFTER, Fleet, Interval, Replicas, Workload


def fixed(n_replicas: int) -> Policy:
    return Policy(minimum=n_replicas, maximum=n_replicas)


def run(
    workload: Workload,
    kind: Replicas,
    seconds: float,
    n_replicas: int = 1,
    policy: Policy | None = None,
    seed: int = 1,
) -> tuple[Fleet, list[Interval]]:
    fleet = Fleet(workload, kind, policy or fixed(n_replicas), start_with=n_replicas, seed=seed)
    return fleet, fleet.run(seconds)


def total(intervals: list[Interval], field: str) -> int:
    return sum(getattr(interval, field) for interval in intervals)


@pytest.mark.parametrize(("cores", "busy"), [(1, 0.7), (2, 0.8), (8, 0.85)])
def test_a_replica_makes_wait_as_long_as_erlang_says(cores: int, busy: float) -> None:
    service = 0.1
    rate = busy * cores / service
    workload = Workload([(0, rate)], service, deadline=math.inf)
    kind = Replicas(cores=cores, places=math.inf, choices=1)
    _, intervals = run(workload, kind, seconds=80_000 / rate)
    waits = [wait for interval in intervals for wait in interval.waits]
    assert fmean(waits) == pytest.approx(mean_wait(cores, rate, service), rel=0.08)


def test_littles_law() -> None:
    workload = Workload([(0, 30.0)], 0.1, deadline=math.inf)
    fleet, intervals = run(workload, Replicas(2, math.inf, 2), seconds=2000, n_replicas=2)
    latencies = [one for interval in intervals for one in interval.latencies]
    in_system = fleet.admitted_seconds / 2000
    assert in_system == pytest.approx(len(latencies) / 2000 * fmean(latencies), rel=0.01)


def test_a_bounded_queue_refuses_as_often_as_m_m_1_k() -> None:
    busy, places = 0.9, 5
    workload = Workload([(0, 9.0)], 0.1, deadline=math.inf, attempts=1)
    _, intervals = run(workload, Replicas(1, places, 1), seconds=6_000)
    blocked = (1 - busy) * busy**places / (1 - busy ** (places + 1))
    refused = total(intervals, "rejected") / total(intervals, "offered")
    assert refused == pytest.approx(blocked, rel=0.05)
    assert total(intervals, "given_up") == total(intervals, "rejected")


@pytest.mark.parametrize("seed", [1, 2])
def test_every_request_ends_once(seed: int) -> None:
    workload = Workload([(0, 60.0), (60, 0.0)], 0.1, deadline=2.0, attempts=3)
    fleet, intervals = run(workload, Replicas(2, 60, 2), seconds=400, n_replicas=2, seed=seed)
    for end in ("answered", "expired", "given_up"):
        assert total(intervals, end)
    ends = sum(total(intervals, end) for end in ("answered", "expired", "given_up"))
    assert ends == total(intervals, "offered")
    assert fleet.admitted == 0
    assert max(wait for interval in intervals for wait in interval.waits) <= 2.0


def test_the_same_seed_gives_the_same_run() -> None:
    workload = Workload([(0, 20.0), (50, 200.0)], 0.1)
    kind, policy = Replicas(), Policy(start_delay=10)
    runs = [run(workload, kind, 100, 2, policy, seed)[1] for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_clients_come_back_no_sooner_than_they_were_told() -> None:
    workload = Workload([(0, 50.0), (0.2, 0.0)], service=5.0, deadline=math.inf, attempts=2)
    _, intervals = run(workload, Replicas(1, 1, 1), seconds=20)
    asked = [interval for interval in intervals if interval.rejected]
    first, second = asked[0], asked[-1]
    assert first.rejected == first.offered - 1
    # One request in it takes 5 s on average: 5 s, and a quarter more at most.
    assert second.start == 5.0
    assert second.given_up == second.rejected
    assert MAX_RETRY_AFTER == SERVERS_BOUND


def test_looking_at_two_replicas_is_better_than_at_one() -> None:
    workload = Workload([(0, 160.0)], 0.1, deadline=math.inf)
    waits = []
    for choices in (1, 2):
        _, intervals = run(workload, Replicas(2, math.inf, choices), 300, n_replicas=10)
        waits.append(fmean(wait for interval in intervals for wait in interval.waits))
    assert waits[1] < waits[0] / 2


def test_a_burst_is_met_by_replicas_that_take_their_time_to_start() -> None:
    policy = Policy(target=4, maximum=40, start_delay=30, grow_by=40)
    workload = Workload([(0, 20.0), (60, 400.0)], 0.1, deadline=math.inf)
    _, intervals = run(workload, Replicas(2, 128, 2), 300, n_replicas=2, policy=policy)
    ready = {interval.start: interval.ready for interval in intervals}
    wanted = {interval.start: interval.wanted for interval in intervals}
    assert wanted[60] >= 2
    assert wanted[75] > 2
    assert ready[80] == 2  # decided by second 75, here 24 s later at the soonest
    assert ready[145] >= 20
    assert max(ready.values()) <= 40
    assert intervals[-1].rejected == 0
    assert fmean(intervals[-1].waits) < 0.1


def test_after_the_burst_replicas_are_kept_for_a_while_and_no_work_is_dropped() -> None:
    policy = Policy(target=2, maximum=30, stabilisation=60, shrink_factor=0.5, shrink_period=15)
    workload = Workload([(0, 300.0), (60, 10.0)], 0.1, deadline=math.inf)
    _, intervals = run(workload, Replicas(2, math.inf, 2), 400, n_replicas=20, policy=policy)
    ready = {interval.start: interval.ready for interval in intervals}
    assert ready[110] >= ready[60] > 10
    assert ready[395] == policy.minimum
    assert total(intervals, "answered") >= total(intervals, "offered") - 10
