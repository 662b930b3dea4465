from __future__ import annotations

import re

import pytest

from benchmarks.capacity.erlang import MEASURED, Cost, erlang_c, mean_wait
from tests.deploy.files import ROOT


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


def test_what_is_reckoned_with_is_what_was_measured() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    rows = re.findall(
        r"^\| ([14]) \| [^|]+ \| [\d,]+ \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE
    )
    assert len(rows) == 10
    for beam, tokens, milliseconds in rows:
        reckoned = MEASURED[int(beam)].core_seconds(float(tokens))
        assert 1000 * reckoned == pytest.approx(float(milliseconds), rel=0.15)
