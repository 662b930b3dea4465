"""Maps the tensors of a safetensors file into memory, one at a time."""

from __future__ import annotations

import json
import math
import mmap
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.checkpoint.lazy_tensors import LazyTensors
from model.checkpoint.quantized import scale_name
from model.checkpoint.safetensors_file import open_safetensors
from model.errors import CheckpointError

_TYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2", "I8": "<i1"}
_LENGTH_BYTES = 8


class TensorFile(LazyTensors[NDArray[np.float32]]):
    """Name → float32 array, mapped from the file on each access.

    A float32 tensor is the file's own pages, which take memory once they are touched and for as
    long as the array lives: a row that is looked up in a table of 256,000 is one page. Writing to
    an array does not change the file. What is read stays that of the file as it was opened, even if
    another replaces it.

    `scales` has the scale of each 8-bit matrix (`model.checkpoint.quantized`), which is read
    as float32, too.

    Raises `CheckpointError` on creation for a file that is missing, truncated or of another format,
    and on access for a tensor that is not floating-point.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_safetensors(path, "numpy"):  # which checks the header and all offsets
            self._file = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._file)
            n_header = int.from_bytes(os.pread(self._file, _LENGTH_BYTES, 0), "little")
            header = json.loads(os.pread(self._file, n_header, _LENGTH_BYTES))
        self._start = _LENGTH_BYTES + n_header
        self._tensors = {name: value for name, value in header.items() if name != "__metadata__"}
        self.scales: dict[str, float] = {}
        quantised = [name for name, facts in self._tensors.items() if facts["dtype"] == "I8"]
        super().__init__(self._tensors.keys() - set(map(scale_name, quantised)))
        self.scales = {name: self._scale(name) for name in quantised}

    def _scale(self, name: str) -> float:
        if scale_name(name) not in self._tensors:
            raise CheckpointError(f"{self._path}: tensor '{name}' is int8 without a scale")
        scale = self._read(scale_name(name))
        if scale.shape != (1,) or not 0 < scale[0] < math.inf:
            raise CheckpointError(f"{self._path}: the scale of '{name}' is not a positive number")
        return float(scale[0])

    def _read(self, name: str) -> NDArray[np.float32]:
        array = self._stored(name)
        if name in self.scales:
            return array.astype(np.float32) * np.float32(self.scales[name])
        if self._tensors[name]["dtype"] == "BF16":  # float32 without its last two bytes
            array = (array.astype(np.uint32) << 16).view(np.float32)
        # Kernels are compiled for arrays that begin at a multiple of their type's size.
        return np.require(array, np.float32, "A")

    def _stored(self, name: str) -> NDArray[Any]:
        """Return a tensor as it is in the file."""
        found = self._tensors[name]
        if found["dtype"] not in _TYPES:
            raise CheckpointError(
                f"{self._path}: tensor '{name}' has type {found['dtype']}, not floating-point"
            )
        kind = np.dtype(_TYPES[found["dtype"]])
        if not math.prod(found["shape"]):
            return np.zeros(found["shape"], np.float32)
        first, behind = (self._start + offset for offset in found["data_offsets"])
        try:
            array = self._mapped(first, behind).view(kind)
        except (OSError, ValueError):
            raise CheckpointError(f"{self._path}: damaged: it became shorter") from None
        return array.reshape(found["shape"])

    def _mapped(self, first: int, behind: int) -> NDArray[np.uint8]:
        base = first - first % mmap.ALLOCATIONGRANULARITY
        pages = mmap.mmap(self._file, behind - base, access=mmap.ACCESS_COPY, offset=base)
        return np.frombuffer(pages, np.uint8, offset=first - base)
