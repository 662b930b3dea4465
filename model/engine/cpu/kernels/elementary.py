"""Operations within one row: LayerNorm and activations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.intrinsics import squares, total
from model.engine.cpu.kernels.jit import kernel

RELU, GELU, SWISH, QUICK_GELU = range(4)

_ONE = np.float32(1)


class Norm(NamedTuple):
    """LayerNorm of each of L layers: gain and bias, each [L, D], and ε."""

    gain: Floats
    bias: Floats
    epsilon: np.float32


@kernel
def normalise(x: Floats, n_rows: int, norm: Norm, layer: int, out: Floats) -> None:
    """out = (x − mean) / √(variance + ε) · gain + bias, row by row; `out` may be x."""
    gain, bias = norm.gain[layer], norm.bias[layer]
    width, stride = len(gain), x.shape[1]
    for index in range(n_rows):
        row, normal = x[index, :width], out[index, :width]
        mean = total(x, index * stride, width) / np.float32(width)
        variance = squares(x, index * stride, width, mean) / np.float32(width)
        deviation = np.sqrt(variance + norm.epsilon)
        for i in range(width):
            normal[i] = (row[i] - mean) * gain[i] / deviation + bias[i]


@kernel
def activate(x: Floats, n_rows: int, width: int, activation: int) -> None:
    """GELU, x σ(x) or x σ(1.702 x) in place; ReLU is the floor of the product before."""
    for index in range(n_rows):
        row = x[index, :width]
        if activation == GELU:
            for i in range(width):
                half = np.float32(0.5) * row[i]
                row[i] = half * (_ONE + np.float32(math.erf(row[i] * np.float32(math.sqrt(0.5)))))
        elif activation in (SWISH, QUICK_GELU):
            slope = _ONE if activation == SWISH else np.float32(1.702)
            for i in range(width):
                row[i] /= _ONE + np.float32(math.exp(-slope * row[i]))
