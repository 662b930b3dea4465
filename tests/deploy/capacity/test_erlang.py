from __future__ import annotations

import pytest

from deploy.capacity.erlang import MEASURED, Cost, erlang_c, mean_wait


def test_one_server_makes_an_arrival_wait_as_often_as_it_is_busy() -> None:
    assert erlang_c(1, 0.7) == pytest.approx(0.7)


def test_two_servers_by_hand() -> None:
    # p₀ = 1 / (1 + 1 + 1²/2! · 2/(2 − 1)) = 1/3, and C = 1²/2! · 2/(2 − 1) · p₀
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)


def test_nobody_waits_where_nobody_comes_and_everybody_at_the_limit() -> None:
    assert erlang_c(4, 0.0) == 0.0
    assert erlang_c(4, 4 - 1e-9) == pytest.approx(1.0)


def test_many_servers_do_not_overflow() -> None:
    assert 0 < erlang_c(2000, 1990.0) < 1


@pytest.mark.parametrize("offered", [-0.1, 2.0, 3.0])
def test_more_than_the_servers_can_do_has_no_answer(offered: float) -> None:
    with pytest.raises(ValueError, match="below the number of servers"):
        erlang_c(2, offered)


def test_the_wait_of_one_server_is_that_of_m_m_1() -> None:
    assert mean_wait(1, arrivals=8.0, service=0.1) == pytest.approx(0.8 * 0.1 / (1 - 0.8))


def test_replicas_for_a_rate_by_hand() -> None:
    cost = Cost(per_request=0.001, per_token=0.0001)
    assert cost.core_seconds(10) == pytest.approx(0.002)
    # 900 requests × 2 ms are 1.8 cores' work, 1.5 replicas' of two cores at 60 %
    assert cost.replicas(900, 10, cores=2, utilisation=0.6) == 2


def test_what_was_measured_is_what_the_figures_say() -> None:
    # docs/benchmarks.md: 783.5 requests/s on two cores at beam 4, 17,159 tokens/s at batch 64,
    # 1,517.5 sentences/s of them; 44,760 tokens/s greedily.
    tokens = 17_159 / 1_517.5
    assert MEASURED[4].per_token == pytest.approx(2 / 17_159, rel=0.01)
    assert MEASURED[1].per_token == pytest.approx(2 / 44_760, rel=0.01)
    assert 2 / MEASURED[4].core_seconds(tokens) == pytest.approx(783.5, rel=0.02)
