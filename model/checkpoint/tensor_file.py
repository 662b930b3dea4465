"""Maps the tensors of a safetensors file into memory, one at a time."""

from __future__ import annotations

import json
import math
import mmap
import os
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.checkpoint.lazy_tensors import LazyTensors
from model.checkpoint.safetensors_file import open_safetensors
from model.errors import CheckpointError

_TYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2"}
_LENGTH_BYTES = 8


class TensorFile(LazyTensors[NDArray[np.float32]]):
    """Name → float32 array, mapped from the file on each access.

    A float32 tensor is the file's own pages, which take memory once they are touched and for as
    long as the array lives: a row that is looked up in a table of 256,000 is one page. Writing to
    an array does not change the file. What is read stays that of the file as it was opened, even if
    another replaces it.

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
        super().__init__(self._tensors)

    def _read(self, name: str) -> NDArray[np.float32]:
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
        if found["dtype"] == "BF16":  # float32 without its last two bytes
            array = (array.astype(np.uint32) << 16).view(np.float32)
        # Kernels are compiled for arrays that begin at a multiple of their type's size.
        array = np.require(array, np.float32, "A")
        return array.reshape(found["shape"])

    def _mapped(self, first: int, behind: int) -> NDArray[np.uint8]:
        base = first - first % mmap.ALLOCATIONGRANULARITY
        pages = mmap.mmap(self._file, behind - base, access=mmap.ACCESS_COPY, offset=base)
        return np.frombuffer(pages, np.uint8, offset=first - base)
