"""Weights of linear maps as `tile` reads them: in panels of 64 columns, each as tiles of 16 or one.

Int8 follows the usual scheme: a weight matrix has a scale per output column, activations one per
row, computed when the row is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.instructions import (
    COLUMNS,
    GROUP,
    LARGEST,
    OFFSET,
    SMALLEST,
    TILE_COLUMNS,
)

PACKED_OUTPUTS = 16 * COLUMNS
"""Outputs that are packed at a time."""

Codes = tuple[NDArray[np.int8], float]
"""A matrix that was quantised before: −127 … 127, and the scale of all of it."""


class Linear(NamedTuple):
    """The same map of each of L layers: K inputs, N outputs padded to a multiple of 64.

    weight  [L, …], by tiles of C columns; within a tile, as uint8, by groups of G inputs
            [K/G, C, G], or, as float32, by inputs [K, C]
    scale   [L, N], of each output; ones where weights are float32
    bias    [L, N]; −∞ in the padding of an output projection, so that a softmax ignores it
    inputs  K, for uint8 padded to a multiple of G
    following  [L], the address of the weights that are read after those of a layer, which are
               fetched from memory meanwhile; at first the end of its own
    """

    weight: NDArray[np.uint8] | Floats
    scale: Floats
    bias: Floats
    inputs: int
    following: Ints


def padded(size: int, multiple: int) -> int:
    """The next multiple."""
    return -(-size // multiple) * multiple


def pack_int8(
    weights: Sequence[Floats | Codes], biases: Sequence[Floats], padding_bias: float = 0.0
) -> Linear:
    """weights [N, K] and biases [N] of each layer, quantised unless they are codes and a scale."""
    packed = [
        _pack_int8(one) if isinstance(one, np.ndarray) else _pack_codes(*one) for one in weights
    ]
    weight = np.stack([one for one, _, _ in packed])
    scale = np.stack([scale for _, scale, _ in packed])
    bias = _padded_biases(biases, padding_bias)
    return Linear(weight, scale, bias, packed[0][2], ends(weight))


def pack_float32(
    weights: Sequence[Floats], biases: Sequence[Floats], padding_bias: float = 0.0
) -> Linear:
    """weights [N, K] and biases [N] of each layer."""
    packed = []
    for weight in weights:
        n_outputs, n_inputs = weight.shape
        whole = np.zeros((padded(n_outputs, COLUMNS), n_inputs), np.float32)
        whole[:n_outputs] = weight
        packed.append(whole.reshape(-1, TILE_COLUMNS, n_inputs).transpose(0, 2, 1).ravel())
    bias = _padded_biases(biases, padding_bias)
    weight = np.stack(packed)
    return Linear(weight, np.ones_like(bias), bias, weights[0].shape[1], ends(weight))


def ends(weight: NDArray[np.uint8] | Floats) -> Ints:
    """Return the address after each layer's weights."""
    after = np.arange(1, len(weight) + 1, dtype=np.int64)
    return weight.ctypes.data + after * weight.strides[0]


def chain(maps: Sequence[tuple[Linear, int]]) -> None:
    """Declare that layers of linear maps are read one after the other, each from memory."""
    for (one, layer), (other, next_layer) in itertools.pairwise(maps):
        one.following[layer] = other.weight[next_layer:].ctypes.data


def _pack_int8(weight: Floats) -> tuple[NDArray[np.uint8], Floats, int]:
    """Quantise a few panels at a time: a vocabulary's float32 matrix is large."""
    packed, inputs = _unpacked_panels(*weight.shape)
    scale = np.zeros(padded(len(weight), COLUMNS), np.float32)
    for first in range(0, len(weight), PACKED_OUTPUTS):
        part = weight[first : first + PACKED_OUTPUTS]
        largest = np.abs(part).max(axis=1)
        is_zero = largest <= SMALLEST
        scale[first : first + len(part)] = np.where(is_zero, 0, largest / LARGEST)
        divisor = np.where(is_zero, 1, largest / LARGEST)[:, None]
        _put_panels(np.rint(part / divisor), packed, first, inputs)
    return packed, scale, inputs


def _pack_codes(codes: NDArray[np.int8], one_scale: float) -> tuple[NDArray[np.uint8], Floats, int]:
    packed, inputs = _unpacked_panels(*codes.shape)
    scale = np.zeros(padded(len(codes), COLUMNS), np.float32)
    scale[: len(codes)] = one_scale
    for first in range(0, len(codes), PACKED_OUTPUTS):
        part = codes[first : first + PACKED_OUTPUTS].astype(np.int16)
        _put_panels(part, packed, first, inputs)
    return packed, scale, inputs


def _unpacked_panels(n_outputs: int, n_inputs: int) -> tuple[NDArray[np.uint8], int]:
    """Return the memory of packed weights, and the inputs of each output."""
    inputs = padded(n_inputs, GROUP)
    return np.empty(padded(n_outputs, COLUMNS) * inputs, np.uint8), inputs


def _put_panels(codes: NDArray[Any], packed: NDArray[np.uint8], first: int, inputs: int) -> None:
    """Lay out codes [≤ PACKED_OUTPUTS, K], padded with zeros, from an output on."""
    n_columns = padded(len(codes), COLUMNS)
    whole = np.full((n_columns, inputs), OFFSET, np.uint8)
    whole[: len(codes), : codes.shape[1]] = (codes + OFFSET).astype(np.int16).astype(np.uint8)
    tiles = whole.reshape(-1, TILE_COLUMNS, inputs // GROUP, GROUP).transpose(0, 2, 1, 3)
    packed[first * inputs : (first + n_columns) * inputs] = tiles.ravel()


def _padded_biases(biases: Sequence[Floats], padding: float) -> Floats:
    width = padded(len(biases[0]), COLUMNS)
    whole = np.full((len(biases), width), padding, np.float32)
    for row, bias in zip(whole, biases, strict=True):
        row[: len(bias)] = bias
    return whole
