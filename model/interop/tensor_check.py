"""Checks imported tensors against the shapes of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.checkpoint.quantized import is_scale, scale_name
from model.checkpoint.reader import check_weights
from model.checkpoint.tensor_file import LazyTensors
from model.errors import CheckpointError
from model.transformer.config import TransformerConfig


def check_tensors(path: Path, shape: TransformerConfig, tensors: Mapping[str, Tensor]) -> None:
    """Raise `CheckpointError` unless `tensors`, read from `path`, match the configuration."""
    check_weights(path, shape, _Arrays(path, tensors))


class _Arrays(LazyTensors[NDArray[np.float32]]):
    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        super().__init__(name for name in tensors if not is_scale(name))
        self._path = path
        self._tensors = tensors

    def _read(self, name: str) -> NDArray[np.float32]:
        tensor = self._tensors[name]
        if tensor.dtype == torch.int8:
            tensor = tensor.float() * self._tensors[scale_name(name)]
        if not tensor.is_floating_point():
            raise CheckpointError(
                f"{self._path}: tensor '{name}' has type {tensor.dtype}, not floating-point"
            )
        array: NDArray[np.float32] = tensor.float().numpy()
        return array
