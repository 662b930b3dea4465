"""A small attack on a real server, and its bounds."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import MalformedJsonError
from app.routes.handling.json_body import parse_json
from benchmarks.attacked import Attacked
from benchmarks.hostile_connections import attacked_by
from benchmarks.hostile_inputs import FORMS
from benchmarks.hostile_json import KINDS, bodies
from benchmarks.hostile_requests import SMALLER, attacks, many_streams, parser_attacked

WITHIN_BOUNDS = Attacked("text", 10**8, statuses=Counter({200: 3, 504: 1}), probe=0.2, grown=10**6)


def test_every_violation_is_named() -> None:
    assert WITHIN_BOUNDS.violations == []
    assert WITHIN_BOUNDS.row()["Holds"] == "yes"
    assert WITHIN_BOUNDS.row()["Answers"] == "3 × 200, 1 × 504"
    for change, violation in (
        ({"probe": 1.5}, "/livez took 1.50 s"),
        ({"answers": [(0.5, "'b'"), (1.5, "'a'")]}, "an answer 1.50 s late: 'a'"),
        ({"grown": 2 * 10**8}, "200 MB beyond the start"),
        ({"failed": 2}, "requests without an answer: 2"),
        ({"failures": 1}, "failures in the log: 1"),
    ):
        outcome = replace(WITHIN_BOUNDS, **change)
        assert outcome.violations == [violation]
        assert outcome.row()["Holds"] == "NO"


@pytest.mark.parametrize("form", FORMS)
def test_half_of_a_sample_has_the_parsers_own_delimiters(form: str) -> None:
    some = attacks(form, 10)
    assert len(some) == 10
    assert [one.case.name for one in some] == [one.case.name for one in attacks(form, 10)]
    assert len(attacks(form, None)) > 300
    large, small = some[0], some[1]
    assert large.size > 5 * small.size
    request = replace(small, size=100).request(2.0)
    assert request.url.path == ("/translate_file" if form[0] == "." else "/translate")
    assert len(request.read()) > 90
    assert request.headers["Content-Type"]
    assert SMALLER == 16


@pytest.mark.parametrize("attack", KINDS)
async def test_json_is_as_large_as_admitted_and_has_as_many_values_as_are_read(attack: str) -> None:
    n_bytes = 2_000_000
    n_read = 0
    for name, body in bodies(attack, n_bytes):
        assert len(body) <= n_bytes
        if not name.endswith("100,000"):
            assert len(body) > 0.8 * n_bytes
        try:
            await parse_json(body)
        except MalformedJsonError as error:
            refused = str(error)
        else:
            refused = ""
            n_read += 1
        if name.endswith("100,000"):
            assert "more than" not in refused
    assert n_read >= 2


def test_connections_attack_a_real_server(tiny_checkpoint: Path, kernels: None) -> None:
    attack = attacked_by("sampling, left", tiny_checkpoint, n_connections=4, seconds=0.5)
    assert attack.left >= 4
    assert attack.failures == 0
    assert attack.grown <= attack.bound
    assert 0 < attack.probe < float("inf")


def test_attacks_on_a_real_server(tiny_checkpoint: Path, kernels: None) -> None:
    """Checks all bounds except times, which depend on the load of the machine."""
    for attack in (
        parser_attacked("html", tiny_checkpoint, 2.0, 4),
        many_streams(tiny_checkpoint, 2.0, 2),
    ):
        assert set(attack.statuses) <= {200, 429, 504}
        assert attack.statuses
        assert not attack.failed
        assert attack.failures == 0
        assert attack.grown <= attack.bound
        assert 0 < attack.probe < float("inf")
