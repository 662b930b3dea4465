from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.capacity.bursts import (
    BEGIN,
    BURST,
    POLICY,
    REPLICAS,
    SERVICE,
    START_WITH,
    USUAL,
    WORKLOAD,
    Outcome,
    draw,
    percentiles,
    table,
)
from benchmarks.capacity.fleet import Interval

OUTCOME = Outcome(
    60.0,
    [
        Interval(BEGIN - 5, offered=10, answered=10, ready=2, wanted=2, latencies=[0.1] * 10),
        Interval(BEGIN, offered=90, answered=60, rejected=50, given_up=20, ready=2, wanted=9),
        Interval(BEGIN + 5, answered=10, rejected=1, expired=10, ready=9, wanted=9),
        Interval(BEGIN + 10, latencies=[2.0] * 10),
    ],
)


def test_what_the_page_says_of_the_scenario() -> None:
    busy = REPLICAS.cores * START_WITH
    assert USUAL * SERVICE / busy == pytest.approx(0.6, abs=0.01)
    assert BURST / USUAL == 20
    # What the whole fleet can do, the burst does not fill by half.
    assert 0.45 < BURST * SERVICE / (REPLICAS.cores * POLICY.maximum) < 0.55
    assert REPLICAS.places * SERVICE / REPLICAS.cores == pytest.approx(
        WORKLOAD.deadline / 2, rel=0.02
    )


def test_percentiles() -> None:
    assert percentiles([float(n) for n in range(1, 100)]) == pytest.approx((50.0, 95.0))
    assert percentiles([]) == (0.0, 0.0)


def test_a_row_says_what_became_of_the_requests() -> None:
    assert OUTCOME.settled == 10
    row = table([OUTCOME]).splitlines()[-1]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["60 s", "9", "10 s", "100", "80.0%", "51", "20.0%", "10.0%", "1.1", "2.0"]


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw([OUTCOME, OUTCOME], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
