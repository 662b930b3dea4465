"""What is done to single numbers or within one row: exponential, LayerNorm, activations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from model.engine.cpu.jit import kernel, reordered_kernel
from model.engine.cpu.linear import Floats

RELU, GELU, SWISH = range(3)

LAYER_NORM_EPSILON = np.float32(1e-5)
"""As `torch.nn.LayerNorm`'s."""

_LOG2_E = np.float32(math.log2(math.e))
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(math.log(2) - 0.693359375)
_LOWEST = np.float32(-87.0)
_HIGHEST = np.float32(88.0)
_TAYLOR = tuple(np.float32(1 / math.factorial(n)) for n in range(8))
_C2, _C3, _C4, _C5, _C6, _C7 = _TAYLOR[2:]
_ONE = np.float32(1)


class Norm(NamedTuple):
    """LayerNorm of each of L layers: gain and bias, each [L, D]."""

    gain: Floats
    bias: Floats


@kernel
def exponential(x: np.float32) -> np.float32:
    """e^x to 2 units in the last place, branch-free; exactly 0 below −87, NaN for NaN.

    e^x = 2^n e^r with |r| ≤ ln 2 / 2, where the Taylor series to r⁷ is as good as float32.
    """
    bounded = _LOWEST if x < _LOWEST else x
    bounded = _HIGHEST if bounded > _HIGHEST else bounded
    n = np.rint(bounded * _LOG2_E)
    r = bounded - n * _LN2_HIGH - n * _LN2_LOW
    series = _C7 * r + _C6
    series = series * r + _C5
    series = series * r + _C4
    series = series * r + _C3
    series = series * r + _C2
    series = series * r * r + r + _ONE
    power = np.int32(np.int32(np.int32(n) + 127) << 23).view(np.float32)
    return np.float32(0) if x < _LOWEST else series * power


@reordered_kernel
def normalise(x: Floats, n_rows: int, norm: Norm, layer: int, out: Floats) -> None:
    """out = (x − mean) / √(variance + ε) · gain + bias, row by row; `out` may be x."""
    gain, bias = norm.gain[layer], norm.bias[layer]
    width = len(gain)
    for index in range(n_rows):
        row, normal = x[index, :width], out[index, :width]
        total = np.float32(0)
        for i in range(width):
            total += row[i]
        mean = total / np.float32(width)
        squares = np.float32(0)
        for i in range(width):
            deviation = row[i] - mean
            squares += deviation * deviation
        inverse = _ONE / np.sqrt(squares / np.float32(width) + LAYER_NORM_EPSILON)
        for i in range(width):
            normal[i] = (row[i] - mean) * inverse * gain[i] + bias[i]


@kernel
def activate(x: Floats, n_rows: int, width: int, activation: int) -> None:
    """GELU or swish in place; ReLU is a floor of the product before."""
    for index in range(n_rows):
        row = x[index, :width]
        if activation == GELU:
            for i in range(width):
                half = np.float32(0.5) * row[i]
                row[i] = half * (_ONE + np.float32(math.erf(row[i] * np.float32(math.sqrt(0.5)))))
        elif activation == SWISH:
            for i in range(width):
                row[i] /= _ONE + exponential(-row[i])
