from __future__ import annotations

from benchmarks.capacity.autoscaler import Autoscaler, Policy
from tests.deploy.files import DEPLOY, read_yaml


def test_as_many_as_keep_the_target() -> None:
    assert Autoscaler(Policy(target=10)).decide(0, admitted=35, size=3) == 4


def test_a_small_difference_is_left_alone() -> None:
    assert Autoscaler(Policy(target=10)).decide(0, admitted=108, size=10) == 10


def test_within_the_limits() -> None:
    policy = Policy(target=10, minimum=3, maximum=5, grow_by=100, stabilisation=0, shrink_factor=1)
    assert Autoscaler(policy).decide(0, admitted=0, size=4) == 3
    assert Autoscaler(policy).decide(0, admitted=1000, size=4) == 5


def test_it_doubles_or_grows_by_some_at_a_time() -> None:
    for size, most in ((2, 6), (4, 8), (100, 200)):
        assert Autoscaler(Policy(target=1)).decide(0, admitted=1000, size=size) == most


def test_a_second_decision_within_the_period_adds_nothing() -> None:
    autoscaler = Autoscaler(Policy(target=1, period=5, grow_period=15))
    assert autoscaler.decide(0, 1000, 10) == 20
    assert autoscaler.decide(5, 1000, 20) == 20
    assert autoscaler.decide(16, 1000, 20) == 40


def test_it_shrinks_only_to_what_was_enough_of_late_and_slowly() -> None:
    autoscaler = Autoscaler(Policy(target=10, stabilisation=300))
    assert autoscaler.decide(0, 1000, 100) == 100
    assert autoscaler.decide(200, 100, 100) == 100
    assert autoscaler.decide(301, 100, 100) == 90
    assert autoscaler.decide(316, 100, 90) == 90
    assert autoscaler.decide(362, 100, 90) == 81


def test_the_policy_is_that_of_the_manifest() -> None:
    spec = read_yaml(DEPLOY / "kubernetes" / "queue" / "scaledobject.yaml")["spec"]
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    up, down = behavior["scaleUp"], behavior["scaleDown"]
    percent, pods = up["policies"]
    [shrink] = down["policies"]
    policy = Policy()
    assert float(spec["triggers"][0]["metadata"]["threshold"]) == policy.target
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (policy.minimum, policy.maximum)
    assert percent["value"] / 100 == policy.grow_factor
    assert pods["value"] == policy.grow_by
    assert percent["periodSeconds"] == pods["periodSeconds"] == policy.grow_period
    assert (shrink["value"] / 100, shrink["periodSeconds"]) == (
        policy.shrink_factor,
        policy.shrink_period,
    )
    assert up["stabilizationWindowSeconds"] == 0
    assert down["stabilizationWindowSeconds"] == policy.stabilisation
