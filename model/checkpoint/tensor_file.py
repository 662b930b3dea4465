"""Reads safetensors files, one tensor at a time."""

import json
import math
import mmap
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from model.errors import CheckpointError, damaged

T = TypeVar("T")

_TYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2", "I8": "<i1"}
_LENGTH_BYTES = 8
_SCALE = "_scale"
_MAX_SCALE = np.finfo(np.float32).max / 128
"""No code times this is infinite."""


def scale_name(name: str) -> str:
    """Return the name of the scale of an 8-bit matrix: a float32 tensor of shape [1]."""
    return name + _SCALE


def is_scale(name: str) -> bool:
    """Whether a tensor is the scale of another one, by its name."""
    return name.endswith(f".weight{_SCALE}")


class Quantized(NamedTuple):
    """A matrix in 8 bits: codes −127 … 127; each value is a code times the scale."""

    codes: NDArray[np.int8]
    scale: float

    @property
    def values(self) -> NDArray[np.float32]:
        """The matrix in float32."""
        return self.codes.astype(np.float32) * np.float32(self.scale)


def start_of(path: Path) -> bytes:
    """Return the first bytes of a file, by which `damaged` knows what it is."""
    with path.open("rb") as file:
        return file.read(64)


@contextmanager
def open_safetensors(path: Path, framework: Literal["numpy", "pt"]) -> Iterator[Any]:
    """Open a file with `safe_open`. Raises `CheckpointError`, also for errors while it is open."""
    try:
        path.open("rb").close()  # safetensors reports any OS error as a missing file
        with safe_open(path, framework=framework) as file:
            yield file
    except SafetensorError as error:
        reason = f"damaged or not a safetensors file: {' '.join(str(error).split())}"
        raise damaged(path, start_of(path), reason) from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None


class LazyTensors(Mapping[str, T]):
    """Name → tensor, read on each access by `read`; all names are known in advance."""

    def __init__(self, names: Iterable[str], read: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._read = read

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class TensorFile(LazyTensors[NDArray[np.float32]]):
    """Name → float32 array, mapped from the file on each access.

    A float32 tensor is the file's own pages, which take memory from when they are read until the
    array is freed: looking up a row in a table of 256,000 takes one page. Writing to an array does
    not change the file, and replacing the file does not change the arrays.

    `quantized` has the 8-bit matrices, whose values are also read as float32.

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
        quantised = [name for name, facts in self._tensors.items() if facts["dtype"] == "I8"]
        super().__init__(self._tensors.keys() - set(map(scale_name, quantised)), self._as_float32)
        scales = {name: self._scale(name) for name in quantised}
        self.quantized: Mapping[str, Quantized] = LazyTensors(
            scales, lambda name: Quantized(self._stored(name), scales[name])
        )

    def _scale(self, name: str) -> float:
        if scale_name(name) not in self._tensors:
            raise CheckpointError(f"{self._path}: tensor '{name}' is int8 without a scale")
        scale = self._stored(scale_name(name))
        if scale.shape != (1,) or not 0 < scale[0] <= _MAX_SCALE:
            raise CheckpointError(f"{self._path}: the scale of '{name}' is not a positive number")
        return float(scale[0])

    def _as_float32(self, name: str) -> NDArray[np.float32]:
        array = self._stored(name)
        if array.dtype == np.int8:
            return self.quantized[name].values
        if self._tensors[name]["dtype"] == "BF16":  # float32 without its last two bytes
            array = (array.astype(np.uint32) << 16).view(np.float32)
        # Kernels are compiled for arrays aligned to their type.
        return np.require(array, np.float32, "A")

    def _stored(self, name: str) -> NDArray[Any]:
        """Return a tensor as it is in the file."""
        found = self._tensors[name]
        if found["dtype"] not in _TYPES:
            raise CheckpointError(
                f"{self._path}: tensor '{name}' has type {found['dtype']}, not floating-point"
            )
        if not math.prod(found["shape"]):
            return np.zeros(found["shape"], np.float32)
        first, end = (self._start + offset for offset in found["data_offsets"])
        try:
            array = self._mapped(first, end).view(_TYPES[found["dtype"]])
        except (OSError, ValueError):
            raise CheckpointError(f"{self._path}: damaged: it became shorter") from None
        return array.reshape(found["shape"])

    def _mapped(self, first: int, end: int) -> NDArray[np.uint8]:
        base = first - first % mmap.ALLOCATIONGRANULARITY
        pages = mmap.mmap(self._file, end - base, access=mmap.ACCESS_COPY, offset=base)
        return np.frombuffer(pages, np.uint8, offset=first - base)
