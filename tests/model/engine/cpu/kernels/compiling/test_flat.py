import numpy as np
import pytest
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.intrinsics import (
    add_exponentials,
    any_above,
    dot_products,
    exponentiate,
    maximum,
    squares,
    total,
    weighted_sum_16,
    weighted_sum_64,
)
from model.engine.cpu.kernels.jit import kernel
from tests.model.engine.cpu.matrices import normal

LENGTHS = [1, 2, 15, 16, 17, 32, 33, 100]


@kernel
def largest(x: Floats, at: int, n: int) -> np.float32:
    highest: np.float32 = maximum(x, at, n)
    return highest


@kernel
def powers(x: Floats, at: int, n: int, highest: np.float32) -> np.float32:
    sum_: np.float32 = exponentiate(x, at, n, highest)
    return sum_


@kernel
def sums(x: Floats, at: int, n: int, mean: np.float32) -> tuple[np.float32, np.float32]:
    return total(x, at, n), squares(x, at, n, mean)


@kernel
def is_any_above(x: Floats, at: int, bound: np.float32) -> bool:
    return bool(any_above(x, at, bound))


@kernel
def added(x: Floats, at: int, highest: np.float32, totals: Floats, totals_at: int) -> None:
    add_exponentials(x, at, highest, totals, totals_at)


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
    """Place x at index `at` among other numbers, which must not matter."""
    whole = np.full(at + len(x) + 16, value, np.float32)
    whole[at : at + len(x)] = x
    return whole


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("at", [0, 5])
def test_the_largest(n: int, at: int) -> None:
    numbers = normal(n)
    x = padded_with(1e9, numbers, at)
    assert largest(x, at, n) == numbers.max()
    x[at] = np.nan
    assert largest(x, at, n) == max(numbers[1:], default=-np.inf)
    assert largest(x, at, 0) == -np.inf


@pytest.mark.parametrize("place", range(0, 64, 7))
def test_whether_any_is_above(place: int) -> None:
    x = padded_with(1e9, np.zeros(64, np.float32), 5)
    assert not is_any_above(x, 5, np.float32(0))
    x[5 + place] = 1
    assert is_any_above(x, 5, np.float32(0))
    assert not is_any_above(x, 5, np.float32(1))
    x[5 + place] = np.nan
    assert not is_any_above(x, 5, np.float32(0))


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
    numbers = 20 * normal(n)
    highest = np.max(numbers)
    x = padded_with(1e9, numbers, at)
    exact = np.exp(numbers.astype(np.float64) - highest)
    assert powers(x, at, n, highest) == pytest.approx(exact.sum(), rel=1e-5)
    np.testing.assert_allclose(x[at : at + n], exact, rtol=1e-5, atol=1e-37)
    behind = x[at + n :]
    assert not behind[: -n % 16].any()
    assert (behind[-n % 16 :] == 1e9).all()
    assert (x[:at] == 1e9).all()


@pytest.mark.parametrize("at", [0, 5])
def test_exponentials_of_64_numbers_are_added(at: int) -> None:
    numbers = 20 * normal(64)
    highest = np.max(numbers)
    totals = np.full(48, 7, np.float32)
    added(padded_with(1e9, numbers, at), at, highest, totals, 16)
    exact = np.exp(numbers.reshape(4, 16).astype(np.float64) - highest).sum(axis=0)
    np.testing.assert_allclose(totals[16:32], 7 + exact, rtol=1e-5)
    assert (totals[:16] == 7).all()
    assert (totals[32:] == 7).all()


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 3, 16, 39])
def test_a_number_that_is_not_finite_makes_the_sum_nan(spoilt: float, place: int) -> None:
    x = np.concatenate([normal(48), np.zeros(16, np.float32)])
    x[place] = spoilt
    totals = np.zeros(16, np.float32)
    added(x, 0, largest(x, 0, 64), totals, 0)
    assert np.isnan(totals.sum())
    assert np.isnan(powers(x, 0, 40, largest(x, 0, 40)))


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
    # A single one has the same bits.
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


def in_order(terms: NDArray[np.float64]) -> np.float32:
    """Sum as on every processor: 64 partial sums, added pairwise by halves, then the rest."""
    whole = len(terms) // 64 * 64
    parts = np.zeros(64, np.float64)
    for start in range(0, whole, 64):
        # In float64 a product is exact, so this rounds as a fused multiply-add does.
        parts = (parts + terms[start : start + 64]).astype(np.float32).astype(np.float64)
    while len(parts) > 1:
        half = 16 if len(parts) == 64 else len(parts) // 2
        pairs = parts.reshape(-1, 2, half)
        parts = (pairs[:, 0] + pairs[:, 1]).ravel().astype(np.float32).astype(np.float64)
    sum_ = parts[0]
    for one in terms[whole:]:
        sum_ = float(np.float32(sum_ + one))
    return np.float32(sum_)


@pytest.mark.parametrize("n", [1, 15, 64, 65, 384, 500])
def test_sums_have_one_order_on_every_processor(n: int) -> None:
    x, mean = normal(3 + n + 5), np.float32(0.25)
    deviations = (x[3 : 3 + n] - mean).astype(np.float64)
    expected = in_order(x[3 : 3 + n].astype(np.float64)), in_order(deviations**2)
    assert sums(x, 3, n, mean) == expected
