"""Weights of linear maps as `tile` reads them: in panels of 64 columns, int8 or float32.

Int8 follows the usual scheme: a weight matrix has a scale per output column, activations one per
row, computed when the row is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.tile import COLUMNS, GROUP

LARGEST = 127
SMALLEST = np.float32(1e-30)
"""Rows, and columns of weights, with no larger value count as zero: inverses could overflow."""
PACKED_OUTPUTS = 16 * COLUMNS
"""Outputs that are packed at a time."""
UNSIGNED = 128
"""Added to every weight, since the dot product multiplies signed by unsigned bytes."""


class Linear(NamedTuple):
    """The same map of each of L layers: K inputs, N outputs padded to a multiple of 64.

    weight  [L, …], by panels of 64 columns; within a panel, as uint8, by groups of 4 inputs
            [K/4, 64, 4], or, as float32, by inputs [K, 64]
    scale   [L, N], of each output; ones where weights are float32
    bias    [L, N]; −∞ in the padding of an output projection, so that a softmax ignores it
    inputs  K, for uint8 padded to a multiple of 4
    """

    weight: NDArray[np.uint8] | Floats
    scale: Floats
    bias: Floats
    inputs: int


def padded(size: int, multiple: int) -> int:
    """The next multiple."""
    return -(-size // multiple) * multiple


def pack_int8(
    weights: Sequence[Floats],
    biases: Sequence[Floats],
    padding_bias: float = 0.0,
    scales: Sequence[float | None] | None = None,
) -> Linear:
    """weights [N, K] and biases [N] of each layer, quantised.

    A matrix with one of the `scales` was quantised with it before, and keeps its whole numbers.
    """
    known = scales or [None] * len(weights)
    packed = [_pack_int8(weight, scale) for weight, scale in zip(weights, known, strict=True)]
    return Linear(
        np.stack([one for one, _ in packed]),
        np.stack([scale for _, scale in packed]),
        _padded_biases(biases, padding_bias),
        padded(weights[0].shape[1], GROUP),
    )


def pack_float32(
    weights: Sequence[Floats], biases: Sequence[Floats], padding_bias: float = 0.0
) -> Linear:
    """weights [N, K] and biases [N] of each layer."""
    packed = []
    for weight in weights:
        n_outputs, n_inputs = weight.shape
        whole = np.zeros((padded(n_outputs, COLUMNS), n_inputs), np.float32)
        whole[:n_outputs] = weight
        packed.append(whole.reshape(-1, COLUMNS, n_inputs).transpose(0, 2, 1).ravel())
    bias = _padded_biases(biases, padding_bias)
    return Linear(np.stack(packed), np.ones_like(bias), bias, weights[0].shape[1])


def _pack_int8(weight: Floats, known: float | None) -> tuple[NDArray[np.uint8], Floats]:
    """Quantise a few panels at a time: a vocabulary's float32 matrix is large."""
    n_outputs, n_inputs = weight.shape
    n_columns = padded(n_outputs, COLUMNS)
    scale = np.zeros(n_columns, np.float32)
    packed = np.empty(n_columns * padded(n_inputs, GROUP), np.uint8)
    for first in range(0, n_columns, PACKED_OUTPUTS):
        rows = slice(first, min(first + PACKED_OUTPUTS, n_columns))
        part = weight[rows]
        largest = np.abs(part).max(axis=1)
        if known is not None:
            largest = np.where(largest <= SMALLEST, 0, np.float32(known) * LARGEST)
        scale[first : first + len(part)] = np.where(largest <= SMALLEST, 0, largest / LARGEST)
        whole = np.full((rows.stop - first, padded(n_inputs, GROUP)), UNSIGNED, np.uint8)
        divisor = np.where(largest <= SMALLEST, 1, largest / LARGEST)[:, None]
        whole[: len(part), :n_inputs] = (np.rint(part / divisor) + UNSIGNED).astype(np.uint8)
        panels = whole.reshape(-1, COLUMNS, whole.shape[1] // GROUP, GROUP)
        transposed = panels.transpose(0, 2, 1, 3)
        packed[first * whole.shape[1] : rows.stop * whole.shape[1]] = transposed.ravel()
    return packed, scale


def _padded_biases(biases: Sequence[Floats], padding: float) -> Floats:
    width = padded(len(biases[0]), COLUMNS)
    whole = np.full((len(biases), width), padding, np.float32)
    for row, bias in zip(whole, biases, strict=True):
        row[: len(bias)] = bias
    return whole
