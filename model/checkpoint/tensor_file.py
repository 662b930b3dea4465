"""Reads a safetensors file one tensor at a time, to avoid holding two copies in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.checkpoint.safetensors_file import open_safetensors
from model.errors import CheckpointError

_NUMPY_TYPES = ("F16", "F32", "F64")
_FLOATING_TYPES = (*_NUMPY_TYPES, "BF16")


class TensorFile(Mapping[str, NDArray[np.float32]]):
    """Name → float32 array, read from the file on each access.

    Raises `CheckpointError` on creation for a file that is missing, truncated or of another format,
    and on access for a tensor that is not floating-point.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_safetensors(path, "numpy") as file:
            self._types = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        kind = self._types[name]
        if kind not in _FLOATING_TYPES:
            raise CheckpointError(
                f"{self._path}: tensor '{name}' has type {kind}, not floating-point"
            )
        # NumPy has no bfloat16; torch has, and is imported only if a file needs it.
        with open_safetensors(self._path, "numpy" if kind in _NUMPY_TYPES else "pt") as file:
            tensor = file.get_tensor(name)
        array: NDArray[np.float32] = (
            tensor.astype(np.float32) if kind in _NUMPY_TYPES else tensor.float().numpy()
        )
        return array

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)
