from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from model.engine.cpu.kernels.elementary import (
    GELU,
    QUICK_GELU,
    RELU,
    SWISH,
    Norm,
    activate,
    normalise,
)
from tests.model.engine.cpu.matrices import normal

EPSILON = np.float32(1e-6)


@pytest.mark.parametrize("width", [2, 15, 64, 100])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_layer_norm_is_torchs(width: int, offset: float) -> None:
    x = np.zeros((4, width + 5), np.float32)
    x[:, :width] = 3 * normal(4, width) + offset
    norm = Norm(normal(2, width, seed=1), normal(2, width, seed=2), EPSILON)
    for layer in range(2):
        gain, bias = torch.tensor(norm.gain[layer]), torch.tensor(norm.bias[layer])
        exact = functional.layer_norm(
            torch.tensor(x[:, :width]).double(), (width,), eps=float(EPSILON)
        )
        expected = exact.float() * gain + bias
        out = np.full_like(x, 7)
        normalise(x, 3, norm, layer, out)
        np.testing.assert_allclose(out[:3, :width], expected[:3], atol=2e-6 * (1 + offset))
        assert (out[3] == 7).all()
        assert (out[:, width:] == 7).all()
        in_place = x.copy()
        normalise(in_place, 3, norm, layer, in_place)
        np.testing.assert_array_equal(in_place[:3, :width], out[:3, :width])
        np.testing.assert_array_equal(in_place[3], x[3])


def test_layer_norm_of_equal_numbers_is_the_bias() -> None:
    norm = Norm(normal(1, 8), normal(1, 8, seed=1), EPSILON)
    out = np.zeros((1, 8), np.float32)
    normalise(np.full((1, 8), 2.5, np.float32), 1, norm, 0, out)
    np.testing.assert_array_equal(out, norm.bias)


def test_layer_norm_keeps_nan_within_its_row() -> None:
    x = normal(3, 40)
    norm = Norm(normal(1, 40), normal(1, 40, seed=1), EPSILON)
    clean, spoilt = np.zeros_like(x), np.zeros_like(x)
    normalise(x, 3, norm, 0, clean)
    x[1, 39] = np.nan
    normalise(x, 3, norm, 0, spoilt)
    assert np.isnan(spoilt[1]).all()
    np.testing.assert_array_equal(spoilt[[0, 2]], clean[[0, 2]])


ACTIVATIONS: dict[int, Callable[[Tensor], Tensor]] = {
    RELU: lambda x: x,  # a minimum of the previous product
    GELU: functional.gelu,
    SWISH: functional.silu,
    QUICK_GELU: lambda x: x * torch.sigmoid(1.702 * x),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_torchs(activation: int) -> None:
    values = np.concatenate([np.linspace(-12, 12, 97), [-200, -1e-20, 1e-20, 200, np.nan]])
    before = np.stack([values, values[::-1]]).astype(np.float32)
    x = before.copy()
    activate(x, 1, 101, activation)
    expected = ACTIVATIONS[activation](torch.tensor(before[0]).double())
    np.testing.assert_allclose(x[0, :101], expected[:101], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(x[0, 101:], before[0, 101:])
    np.testing.assert_array_equal(x[1], before[1])
    activate(x, 2, 102, activation)
    assert np.isnan(x[0, 101])
