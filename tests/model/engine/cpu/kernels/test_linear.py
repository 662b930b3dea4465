from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.compiling.products import BLOCK_INPUTS
from model.engine.cpu.kernels.instructions import GROUP, SMALLEST
from model.engine.cpu.kernels.linear import (
    NO_FLOOR,
    RELU_FLOOR,
    make_scratch,
    project,
)
from model.engine.cpu.kernels.packing import Linear, pack_float32, pack_int8, padded
from tests.model.engine.cpu.matrices import SHAPES, normal, unpacked

Pack = Callable[..., Linear]
BLOCKS = [(BLOCK_INPUTS, 3), (BLOCK_INPUTS + 1, 70), (2 * BLOCK_INPUTS + 76, 130)]
"""Inputs by outputs: one block of inputs, two, three."""
PACKS = pytest.mark.parametrize("pack", [pack_int8, pack_float32])


def widened(x: Floats) -> Floats:
    """Add padding columns, as the engine's rows have them; those that are read are zero."""
    wide = np.full((len(x), padded(x.shape[1], GROUP) + 3), np.nan, np.float32)
    wide[:, : padded(x.shape[1], GROUP)] = 0
    wide[:, : x.shape[1]] = x
    return wide


def apply(
    linear: Linear, x: Floats, layer: int = 0, floor: np.float32 = NO_FLOOR,
    accumulate: bool = False, out: Floats | None = None,
) -> Floats:  # fmt: skip
    if out is None:
        out = np.full((len(x), linear.bias.shape[1]), 7, np.float32)
    scratch = make_scratch(len(x), linear.inputs)
    project(widened(x), len(x), linear, layer, floor, accumulate, scratch, out)
    return out


@pytest.mark.parametrize("largest", [0, 1e-44, 1e-40, float(SMALLEST)])
def test_an_output_whose_weights_are_next_to_nothing_is_its_bias(largest: float) -> None:
    weight = np.full((2, 4), largest, np.float32)
    linear = pack_int8([weight], [np.ones(2, np.float32)])
    np.testing.assert_array_equal(apply(linear, normal(1, 4))[:, :2], 1)


@pytest.mark.parametrize(("n_inputs", "n_outputs"), [*SHAPES, *BLOCKS])
@pytest.mark.parametrize("n_rows", range(1, 10))
def test_int8_products_are_exact(n_rows: int, n_inputs: int, n_outputs: int) -> None:
    x = normal(n_rows, n_inputs, seed=n_rows)
    x *= 10.0 ** np.arange(n_rows)[:, None] / 1e3  # every row has a scale of its own
    x = x.astype(np.float32)
    weights = [normal(n_outputs, n_inputs, seed=seed) for seed in range(2)]
    linear = pack_int8(weights, [normal(n_outputs, seed=3)] * 2)
    largest = np.abs(x).max(axis=1, keepdims=True)
    whole_x = np.rint(x * (np.float32(127) / largest)).astype(np.int64)
    for layer in range(2):
        whole_w = unpacked(linear, layer, n_outputs, n_inputs).astype(np.int64)
        exact = (whole_x @ whole_w.T).astype(np.float32)
        scale = (largest / np.float32(127)) * linear.scale[layer, :n_outputs]
        expected = exact * scale + linear.bias[layer, :n_outputs]
        out = apply(linear, x, layer)
        np.testing.assert_array_equal(out[:, :n_outputs], expected)
        np.testing.assert_array_equal(out[:, n_outputs:], 0)


@pytest.mark.parametrize(("n_inputs", "n_outputs"), SHAPES)
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 9])
def test_float32_products_are_numpys(n_rows: int, n_inputs: int, n_outputs: int) -> None:
    x = normal(n_rows, n_inputs)
    weights = [normal(n_outputs, n_inputs, seed=seed) for seed in range(2)]
    biases = [normal(n_outputs, seed=3 + seed) for seed in range(2)]
    linear = pack_float32(weights, biases)
    for layer in range(2):
        expected = x.astype(np.float64) @ weights[layer].T.astype(np.float64) + biases[layer]
        out = apply(linear, x, layer)[:, :n_outputs]
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@PACKS
def test_a_rows_bits_are_the_same_alone_and_anywhere_in_a_batch(pack: Pack) -> None:
    x = normal(9, 37)
    linear = pack([normal(70, 37, seed=1)], [normal(70, seed=2)])
    alone = np.concatenate([apply(linear, x[row : row + 1]) for row in range(len(x))])
    for n_rows in range(1, 10):
        for first in range(len(x) - n_rows + 1):
            together = apply(linear, x[first : first + n_rows])
            assert together.tobytes() == alone[first : first + n_rows].tobytes()


@PACKS
@pytest.mark.parametrize("spoilt", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_spoils_itself_alone(pack: Pack, spoilt: float) -> None:
    weight = np.abs(normal(70, 37, seed=1)) + 1
    linear = pack([weight], [normal(70, seed=2)])
    clean = normal(6, 37)
    x = clean.copy()
    x[2, 5] = spoilt
    out, expected = apply(linear, x)[:, :70], apply(linear, clean)[:, :70]
    assert not np.isfinite(out[2]).any()
    kept = [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(out[kept], expected[kept])


@PACKS
def test_nan_is_not_lifted_to_the_floor(pack: Pack) -> None:
    linear = pack([normal(70, 8, seed=1)], [normal(70, seed=2)])
    x = normal(3, 8)
    x[1, 0] = np.nan
    out = apply(linear, x, floor=RELU_FLOOR)
    assert np.isnan(out[1, :70]).all()
    expected = np.maximum(apply(linear, x), 0)
    np.testing.assert_array_equal(out[[0, 2]], expected[[0, 2]])
    assert (out[[0, 2], :70] == 0).any()
    assert (out[[0, 2], :70] > 0).any()


@PACKS
def test_a_row_of_zeros_gives_the_bias(pack: Pack) -> None:
    bias = normal(70, seed=2)
    linear = pack([normal(70, 9, seed=1)], [bias])
    for row in (np.zeros((1, 9), np.float32), np.full((1, 9), 1e-38, np.float32)):
        np.testing.assert_array_equal(apply(linear, row)[0, :70], bias)


@PACKS
@pytest.mark.parametrize("n_rows", range(1, 10))
def test_accumulating_adds_to_what_is_there(pack: Pack, n_rows: int) -> None:
    x = normal(n_rows, 21)
    linear = pack([normal(70, 21, seed=1)], [normal(70, seed=2)])
    before = normal(n_rows, 128, seed=3)
    after = apply(linear, x, accumulate=True, out=before.copy())
    np.testing.assert_allclose(after, before + apply(linear, x), rtol=1e-6, atol=1e-6)


@PACKS
def test_rows_beyond_those_given_are_left_alone(pack: Pack) -> None:
    linear = pack([normal(70, 8, seed=1)], [normal(70, seed=2)])
    for n_rows in range(6):
        out = np.full((6, 128), 7, np.float32)
        scratch = make_scratch(6, 8)
        project(normal(6, 8), n_rows, linear, 0, NO_FLOOR, False, scratch, out)
        assert (out[:n_rows] != 7).all()
        assert (out[n_rows:] == 7).all()


def relative_error(found: Floats, exact: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def test_int8_is_near_the_exact_product() -> None:
    x, weight = normal(50, 256), normal(100, 256, seed=1)
    linear = pack_int8([weight], [np.zeros(100, np.float32)])
    exact = x.astype(np.float64) @ weight.T.astype(np.float64)
    assert relative_error(apply(linear, x)[:, :100], exact) < 0.015
