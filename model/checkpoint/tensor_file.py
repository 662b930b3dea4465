"""Reads a safetensors file one tensor at a time, to avoid holding two copies in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.checkpoint.safetensors_file import open_safetensors
from model.errors import CheckpointError

_NUMPY_TYPES = {kind: np.dtype(f"<f{n}") for kind, n in (("F16", 2), ("F32", 4), ("F64", 8))}
_HEADER_LENGTH = 8
"""Bytes before the header, which hold its length (https://github.com/huggingface/safetensors)."""


class TensorFile(Mapping[str, NDArray[np.float32]]):
    """Name → float32 array, read from the file on each access.

    Raises `CheckpointError` on creation for a file that is missing, truncated or of another format,
    and on access for a tensor that is not floating-point.

    Tensors are copied from a memory map without the interpreter's lock: a server loads models while
    others translate, and the library would hold the lock for 0.1 s to copy an embedding.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_safetensors(path, "numpy") as file:
            self._types = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_HEADER_LENGTH), "little")
            header = json.loads(file.read(length))
        self._places = {
            name: (_HEADER_LENGTH + length + header[name]["data_offsets"][0], header[name]["shape"])
            for name in self._types
        }

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        kind = self._types[name]
        if kind == "BF16":  # the upper halves of float32, which NumPy does not have
            halves = self._mapped(name, np.dtype("<u2"))
            whole: NDArray[np.float32] = np.left_shift(halves, 16, dtype=np.uint32).view(np.float32)
            return whole
        if kind not in _NUMPY_TYPES:
            raise CheckpointError(
                f"{self._path}: tensor '{name}' has type {kind}, not floating-point"
            )
        return np.array(self._mapped(name, _NUMPY_TYPES[kind]), np.float32)

    def _mapped(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        offset, shape = self._places[name]
        if 0 in shape:  # which cannot be mapped
            return np.zeros(shape, dtype)
        with open_safetensors(self._path, "numpy"):  # still the whole file
            return np.asarray(np.memmap(self._path, dtype, "r", offset, tuple(shape)))

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)
