"""Arrays of zeros that take physical memory only where they are written."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def untouched(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros in pages of their own, which go back to the system with the array.

    `np.zeros` does this only for memory that is new to the process. Once a model was let go, it
    gets that model's memory and writes zeros to all of it: of an engine's slots for 64 long
    sentences, 38 MB, even if one short sentence is ever in one.
    """
    n_items = math.prod(shape)
    n_bytes = n_items * np.dtype(dtype).itemsize
    if not n_bytes or not hasattr(mmap, "MAP_PRIVATE"):  # on Windows
        return np.zeros(shape, dtype)
    memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # else the first byte takes 2 MB
    return np.frombuffer(memory, dtype, n_items).reshape(shape)
