"""The memory of records of arrays, such as a model's weights or an engine's workspace."""

from __future__ import annotations

import mmap

import numpy as np


def array_bytes(record: object) -> int:
    """Bytes of all arrays in nested tuples, each array counted once."""
    arrays: dict[int, np.ndarray] = {}
    _collect(record, arrays)
    return sum(array.nbytes for array in arrays.values())


def own_bytes(record: object) -> int:
    """Bytes of all arrays but those that are a file's own pages, which the system may take back."""
    arrays: dict[int, np.ndarray] = {}
    _collect(record, arrays)
    return sum(array.nbytes for array in arrays.values() if not _is_mapped(array))


def _is_mapped(array: np.ndarray) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def _collect(record: object, arrays: dict[int, np.ndarray]) -> None:
    if isinstance(record, np.ndarray):
        arrays[id(record)] = record
    elif isinstance(record, tuple):
        for one in record:
            _collect(one, arrays)
