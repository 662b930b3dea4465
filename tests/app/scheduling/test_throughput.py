from __future__ import annotations

import math

import pytest

from app.scheduling.throughput import Pace


def test_nothing_is_known_before_anything_is_finished() -> None:
    pace = Pace()
    assert pace.seconds_per_token == 0
    pace.worked(5)
    assert pace.seconds_per_token == 0


def test_steps_that_finish_nothing_count_towards_the_next_that_does() -> None:
    pace = Pace()
    pace.worked(1)
    pace.worked(1)
    pace.finished(10)
    assert pace.seconds_per_token == pytest.approx((math.exp(-0.1) + 1) / 10)


def test_a_change_of_pace_is_soon_believed() -> None:
    pace = Pace()
    for _ in range(50):
        pace.worked(10)
        pace.finished(10)
    for _ in range(20):
        pace.worked(1)
        pace.finished(10)
    assert 0.1 < pace.seconds_per_token < 0.25


def test_many_short_steps_for_one_sentence_are_what_that_sentence_took() -> None:
    pace = Pace()
    for _ in range(20):
        for _ in range(100):
            pace.worked(0.001)
        pace.finished(10)
        assert pace.seconds_per_token == pytest.approx(0.01, rel=0.01)
