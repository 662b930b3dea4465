"""Returns freed memory to the operating system, on Linux with glibc."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

ARENAS = 2
"""Heaps of the allocator. By default each thread has one, up to eight for each core, and what one
has freed no other uses: large requests, which many threads work on, took up to twice the memory."""

_M_ARENA_MAX = -8
"""See mallopt(3)."""


def keep_few_heaps() -> None:
    """Let all threads share the heaps; call before there are any."""
    if mallopt := _of_glibc("mallopt"):
        mallopt(_M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Return memory that was freed but kept by the allocator.

    Of a model's arrays, the allocator keeps those below its threshold, up to 32 MB each; without
    this, a process that has loaded forty models one after the other holds several of them, and one
    that has translated large documents holds most of what these took. Blocks for some milliseconds,
    without the interpreter's lock.
    """
    if trim := _of_glibc("malloc_trim"):
        trim(0)


@cache
def _of_glibc(name: str) -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    return found
