"""Returns freed memory to the operating system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache


def give_back() -> None:
    """Return memory that was freed but kept by the allocator, on Linux with glibc.

    Of a model's arrays, the allocator keeps those below its threshold, up to 32 MB each; without
    this, a process that has loaded forty models one after the other holds several of them, and one
    that has translated large documents holds most of what these took. Blocks for some milliseconds,
    without the interpreter's lock.
    """
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
