"""The attack on a real server: in small, and what its conclusions are drawn from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.attacked import Outcome, Seen, Waiting, _waited
from benchmarks.hostile_crowds import crowd_of_streams
from benchmarks.hostile_inputs import FORMS
from benchmarks.hostile_requests import SMALLER, attacks, parser_attacked

FINE = Outcome(
    "text", Seen(Counter({200: 3, 504: 1})), Waiting(0.2), Waiting(0.0), "", 10**6, 10**8, 0.0, 0
)


def test_what_is_promised_holds_or_is_named() -> None:
    assert FINE.broken == []
    assert FINE.row()["Holds"] == "yes"
    assert FINE.row()["Answers"] == "3 × 200, 1 × 504"
    for change, said in (
        ({"probe": Waiting(1.5)}, "/livez took 1.50 s"),
        ({"late": Waiting(2.0, 0.5), "latest": "'a'"}, "an answer 1.50 s late: 'a'"),
        ({"grown": 2 * 10**8}, "200 MB beyond the start"),
        ({"seen": Seen(broken=2)}, "2 without an answer"),
        ({"failures": 1}, "1 failures in the log"),
    ):
        broken = replace(FINE, **change)
        assert broken.broken == [said]
        assert broken.row()["Holds"] == "NO"


def test_where_the_machine_was_busy_that_does_not_count() -> None:
    assert replace(FINE, probe=Waiting(3.0, 2.5), late=Waiting(1.5, 0.9)).broken == []
    delays = [(0.0, 1.0), (1.0, 1.5), (2.0, 3.0), (3.0, 3.0)]
    assert _waited(delays, 0.5, 2.5) == 1.5
    assert _waited(delays, 4.0, 5.0) == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_half_of_a_sample_has_the_parsers_own_delimiters(form: str) -> None:
    some = attacks(form, 10)
    assert len(some) == 10
    assert [one.case.name for one in some] == [one.case.name for one in attacks(form, 10)]
    assert len(attacks(form, None)) > 300
    large, small = some[0], some[1]
    assert large.size > 5 * small.size
    path, body, headers = replace(small, size=100).request(2.0)
    assert path == ("/translate_file" if form[0] == "." else "/translate")
    assert len(body) > 90
    assert headers["Content-Type"]
    assert SMALLER == 16


def test_a_server_that_is_attacked(tiny_checkpoint: Path, kernels: None) -> None:
    """All promises but those of time, which a test does not measure beside others."""
    for outcome in (
        parser_attacked("html", tiny_checkpoint, 4.0, 6),
        crowd_of_streams(tiny_checkpoint, 4.0, 3),
    ):
        assert set(outcome.seen.statuses) <= {200, 429, 504}
        assert outcome.seen.statuses
        assert not outcome.seen.broken
        assert outcome.failures == 0
        assert outcome.grown <= outcome.bound
        assert 0 < outcome.probe.seconds < float("inf")
