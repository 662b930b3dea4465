"""Matrices to be packed and multiplied."""

import numpy as np

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.instructions import GROUP, OFFSET, TILE_COLUMNS
from model.engine.cpu.kernels.packing import Linear

SHAPES = [(1, 1), (3, 5), (4, 64), (17, 65), (30, 128), (64, 7), (66, 130), (129, 200)]
"""Inputs by outputs."""


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Floats:
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def unpacked(linear: Linear, layer: int, n_outputs: int, n_inputs: int) -> Floats:
    """Weights [N, K] as they were packed; whole numbers of int8."""
    if linear.weight.dtype == np.uint8:
        codes = (linear.weight[layer] - np.uint8(OFFSET)).view(np.int8)
        tiles = codes.reshape(-1, linear.inputs // GROUP, TILE_COLUMNS, GROUP)
        whole = tiles.transpose(0, 2, 1, 3).reshape(-1, linear.inputs).astype(np.float32)
    else:
        floats = linear.weight[layer].reshape(-1, linear.inputs, TILE_COLUMNS)
        whole = floats.transpose(0, 2, 1).reshape(-1, linear.inputs)
    assert not whole[n_outputs:].any()
    assert not whole[:, n_inputs:].any()
    result: Floats = whole[:n_outputs, :n_inputs]
    return result
