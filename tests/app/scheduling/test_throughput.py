import math

import pytest

from app.scheduling.engine_state import Throughput


def test_nothing_is_known_before_anything_is_finished() -> None:
    throughput = Throughput()
    assert throughput.seconds_per_token == 0
    throughput.worked(5)
    assert throughput.seconds_per_token == 0


def test_steps_that_finish_nothing_count_towards_the_next_that_does() -> None:
    throughput = Throughput()
    throughput.worked(1)
    throughput.worked(1)
    throughput.finished(10)
    assert throughput.seconds_per_token == pytest.approx((math.exp(-0.1) + 1) / 10)


def test_a_change_of_pace_is_soon_believed() -> None:
    throughput = Throughput()
    for _ in range(50):
        throughput.worked(10)
        throughput.finished(10)
    for _ in range(20):
        throughput.worked(1)
        throughput.finished(10)
    assert 0.1 < throughput.seconds_per_token < 0.25


def test_many_short_steps_for_one_sentence_are_what_that_sentence_took() -> None:
    throughput = Throughput()
    for _ in range(20):
        for _ in range(100):
            throughput.worked(0.001)
        throughput.finished(10)
        assert throughput.seconds_per_token == pytest.approx(0.01, rel=0.01)
