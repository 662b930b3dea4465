from itertools import islice

import pytest

from benchmarks.hostile_routes import ONE_TEXT
from benchmarks.soak import N_TEXTS, _tenths, growth, requests


def test_growth_is_that_of_memory_by_requests() -> None:
    assert growth([(0, 0, 10**8), (1000, 0, 10**8 + 5000), (2000, 1, 10**8 + 10_000)]) == (
        pytest.approx(5000)
    )
    assert growth([(7, 0, 1)]) == 0


def test_every_route_has_its_turn_with_other_texts() -> None:
    first = list(islice(requests(), 200))
    assert len(set(first)) > 100
    paths = {one.split()[1].decode() for one in first}
    assert paths >= {name.partition(",")[0] for name in ONE_TEXT}
    assert N_TEXTS > 100


def test_ten_rows_or_so_with_the_last() -> None:
    samples = [(n, 0, n) for n in range(57)]
    assert len(_tenths(samples)) in range(10, 14)
    assert _tenths(samples)[-1] == samples[-1]
    assert _tenths(samples[:1]) == samples[:1]
