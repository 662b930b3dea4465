from __future__ import annotations

import numpy as np
import pytest

from model.engine.cpu.flat import (
    dot_products,
    exponentiate,
    get,
    maximum,
    maximum_below,
    put,
    sum_of_scaled_exponentials,
    summarise,
    weighted_sum_16,
    weighted_sum_64,
)
from model.engine.cpu.jit import kernel
from model.engine.cpu.types import Floats, Ints
from tests.model.engine.cpu.matrices import normal

LENGTHS = [1, 2, 15, 16, 17, 32, 33, 100]


@kernel
def largest_below(x: Floats, at: int, n: int, limit: np.float32) -> np.float32:
    highest: np.float32 = maximum_below(x, at, n, limit)
    return highest


@kernel
def powers(x: Floats, at: int, n: int, highest: np.float32) -> np.float32:
    total: np.float32 = exponentiate(x, at, n, highest)
    return total


@kernel
def sums(x: Floats, scale: Floats, at: int, n: int, highest: np.float32, out: Floats) -> None:
    put(out, 0, sum_of_scaled_exponentials(x, at, scale, at, n, highest))
    put(out, 1, get(x, at))


@kernel
def summarised(
    x: Floats, at: int, highest: Floats, highest_at: int, total: Floats, total_at: int
) -> None:
    summarise(x, at, highest, highest_at, total, total_at)


@kernel
def dots(
    x: Floats, x_at: int, rows: Floats, rows_at: int, places: Ints, places_at: int, out: Floats,
    n: int, width: int, stride: int, scale: np.float32,
) -> None:  # fmt: skip
    dot_products(x, x_at, rows, rows_at, places, places_at, out, 0, n, width, stride, scale)


@kernel
def weighted(
    weights: Floats, rows: Floats, places: Ints, out: Floats, n: int, stride: int,
    scale: np.float32,
) -> None:  # fmt: skip
    weighted_sum_64(weights, 0, rows, 3, places, 1, out, 0, n, stride, scale)
    weighted_sum_16(weights, 0, rows, 3, places, 1, out, 64, n, stride, scale)


def padded_with(value: float, x: Floats, at: int) -> Floats:
    """x from place `at` on, among other numbers, which must not matter."""
    whole = np.full(at + len(x) + 16, value, np.float32)
    whole[at : at + len(x)] = x
    return whole


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("at", [0, 5])
def test_the_largest_below_a_limit(n: int, at: int) -> None:
    numbers = normal(n)
    x = padded_with(1e9, numbers, at)
    in_order = np.sort(numbers)[::-1]
    assert maximum(x, at, n) == in_order[0]
    below = np.float32(np.inf)
    for expected in in_order:
        below = largest_below(x, at, n, below)
        assert below == expected
    assert largest_below(x, at, n, below) == -np.inf
    x[at] = np.nan
    assert maximum(x, at, n) == max(numbers[1:], default=-np.inf)
    assert maximum(x, at, 0) == -np.inf


def test_exponentials_are_within_three_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-87, 0, 20_001), -np.logspace(-40, 0, 1_000)])
    x = np.sort(x.astype(np.float32))
    result = np.concatenate([x, np.zeros(16, np.float32)])
    total = powers(result, 0, len(x), np.float32(0))
    exact = np.exp(x.astype(np.float64))
    spacing = np.spacing(exact.astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(result[: len(x)] - exact) / spacing) <= 3
    assert total == pytest.approx(exact.sum(), rel=1e-5)
    assert not result[len(x) :][: -len(x) % 16].any()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("at", [0, 5])
def test_sums_of_exponentials(n: int, at: int) -> None:
    numbers, scale = 20 * normal(n), np.abs(normal(n, seed=1))
    highest = np.max(numbers)
    x, scales = padded_with(1e9, numbers, at), padded_with(1e9, scale, at)
    out = np.zeros(2, np.float32)
    sums(x, scales, at, n, highest, out)
    exact = np.exp(numbers.astype(np.float64) - highest)
    assert out[0] == pytest.approx((scale * exact).sum(), rel=1e-5)
    assert out[1] == numbers[0]
    assert powers(x, at, n, highest) == pytest.approx(exact.sum(), rel=1e-5)
    np.testing.assert_allclose(x[at : at + n], exact, rtol=1e-5, atol=1e-37)
    behind = x[at + n :]
    assert not behind[: -n % 16].any()
    assert (behind[-n % 16 :] == 1e9).all()
    assert (x[:at] == 1e9).all()


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 3, 16, 39])
def test_a_number_that_is_not_finite_makes_the_sum_nan(spoilt: float, place: int) -> None:
    x = normal(48)
    x[place] = spoilt
    out = np.zeros(2, np.float32)
    sums(x, np.ones_like(x), 0, 40, maximum(x, 0, 40), out)
    assert np.isnan(out[0])
    assert np.isnan(powers(x, 0, 40, maximum(x, 0, 40)))


def summary(x: Floats, at: int) -> tuple[np.float32, np.float32]:
    highest, total = np.full(3, 7, np.float32), np.full(3, 7, np.float32)
    summarised(x, at, highest, 1, total, 2)
    assert (highest[[0, 2]] == 7).all()
    assert (total[:2] == 7).all()
    return highest[1], total[2]


@pytest.mark.parametrize("at", [0, 5])
def test_a_summary_of_64_numbers(at: int) -> None:
    numbers = 20 * normal(64)
    highest, total = summary(padded_with(1e9, numbers, at), at)
    assert highest == np.max(numbers)
    exact = np.exp(numbers.astype(np.float64) - highest).sum()
    assert total == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 3, 16, 63])
def test_a_summary_is_spoilt_by_what_is_not_finite(spoilt: float, place: int) -> None:
    x = normal(64)
    x[place] = spoilt
    highest, total = summary(x, 0)
    assert highest == np.nanmax(x)
    assert np.isnan(total)


def test_a_summary_of_what_has_no_probability_is_zero() -> None:
    highest, total = summary(np.full(64, -np.inf, np.float32), 0)
    assert highest == -np.inf
    assert total == 0


def test_minus_infinity_has_no_weight() -> None:
    x = np.array([-np.inf, 0, -88, -np.inf] + [5] * 12, np.float32)
    assert powers(x, 0, 4, np.float32(0)) == 1
    np.testing.assert_array_equal(x, [0, 1, 0, 0] + [0] * 12)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("width", [4, 12, 16, 36, 64, 80])
def test_dot_products_with_rows_wherever_they_are(n: int, width: int) -> None:
    choose = np.random.default_rng(n)
    rows, x = normal(50, 100), normal(7 + width, seed=1)
    places = choose.integers(0, 50, n + 2)
    out = np.full(n + 16, 7, np.float32)
    dots(x, 7, rows, 11, places, 2, out, n, width, 100, np.float32(0.25))
    exact = rows[places[2:], 11 : 11 + width].astype(np.float64) @ x[7:].astype(np.float64)
    np.testing.assert_allclose(out[:n], 0.25 * exact, rtol=1e-5, atol=1e-5)
    assert (out[n + -n % 16 :] == 7).all()
    # One alone has the same bits.
    for s in range(n):
        alone = np.zeros(16, np.float32)
        dots(x, 7, rows, 11, places, 2 + s, alone, 1, width, 100, np.float32(0.25))
        assert alone[0] == out[s]


@pytest.mark.parametrize("n", LENGTHS)
def test_weighted_sums_of_rows_wherever_they_are(n: int) -> None:
    choose = np.random.default_rng(n)
    rows, weights = normal(50, 100), normal(n, seed=1)
    places = choose.integers(0, 50, n + 1)
    out = np.full(90, 7, np.float32)
    weighted(weights, rows, places, out, n, 100, np.float32(0.5))
    exact = 0.5 * weights.astype(np.float64) @ rows[places[1:], 3 : 3 + 64].astype(np.float64)
    np.testing.assert_allclose(out[:64], exact, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(out[64:80], out[:16])
    assert (out[80:] == 7).all()
