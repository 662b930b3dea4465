import numpy as np
import pytest

from model.engine.cpu.kernels.instructions import GROUP
from model.engine.cpu.kernels.packing import pack_float32, pack_int8, padded
from tests.model.engine.cpu.matrices import SHAPES, normal, unpacked


@pytest.mark.parametrize(("n_inputs", "n_outputs"), SHAPES)
def test_packed_values_are_surrounded_by_zeros(n_inputs: int, n_outputs: int) -> None:
    weights = [normal(n_outputs, n_inputs, seed=seed) for seed in range(3)]
    biases = [normal(n_outputs, seed=seed) for seed in range(3)]
    exact, quantised = pack_float32(weights, biases, -1.0), pack_int8(weights, biases, -1.0)
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        np.testing.assert_array_equal(unpacked(exact, layer, n_outputs, n_inputs), weight)
        whole = unpacked(quantised, layer, n_outputs, n_inputs)
        scale = quantised.scale[layer, :n_outputs, None]
        assert (np.abs(whole).max(axis=1) == 127).all()
        assert (np.abs(whole * scale - weight) <= 0.501 * scale).all()
        for linear in (exact, quantised):
            np.testing.assert_array_equal(linear.bias[layer, :n_outputs], bias)
            assert (linear.bias[layer, n_outputs:] == -1).all()
    assert (exact.scale == 1).all()
    assert exact.inputs == n_inputs
    assert quantised.inputs == padded(n_inputs, GROUP)
