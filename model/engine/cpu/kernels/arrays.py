"""The arrays that kernels share: their types, lazy allocation, their memory."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Flags = NDArray[np.bool_]
Records = NDArray[np.void]


def lazy_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros that take physical memory only where they are written, and return it when freed.

    `np.zeros` does this only for memory that is new to the process. After a model is unloaded, it
    reuses that model's memory and writes zeros to all of it: 38 MB for an engine's slots for 64
    long sentences, even if only one short sentence is ever in flight.
    """
    n_items = math.prod(shape)
    n_bytes = n_items * np.dtype(dtype).itemsize
    if not n_bytes or not hasattr(mmap, "MAP_PRIVATE"):  # on Windows
        return np.zeros(shape, dtype)
    memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # else the first byte takes 2 MB
    return np.frombuffer(memory, dtype, n_items).reshape(shape)


def array_bytes(record: object, *, mapped: bool = True) -> int:
    """Bytes of all arrays in nested tuples, each array counted once.

    Without `mapped`, the pages of files do not count: the system may reclaim them.
    """
    arrays = {id(array): array for array in _arrays(record)}
    return sum(one.nbytes for one in arrays.values() if mapped or not _is_mapped(one))


def _arrays(record: object) -> Iterator[np.ndarray]:
    if isinstance(record, np.ndarray):
        yield record
    elif isinstance(record, tuple):
        for one in record:
            yield from _arrays(one)


def _is_mapped(array: np.ndarray) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)
