"""The memory of this process: how much it may use, and returning freed memory to the system."""

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

ARENAS = 2
"""Heaps of glibc's allocator. By default each thread has its own, up to eight per core, and memory
freed in one is not reused by others: large requests, which use many threads, took up to twice the
memory."""

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8
"""See mallopt(3)."""

_CGROUP_FILES = (
    Path("/sys/fs/cgroup/memory.max"),  # version 2
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # version 1
)


def memory_limit() -> int:
    """Return the bytes of the machine's memory, or of the container's if it has a limit."""
    limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for file in _CGROUP_FILES:
        try:
            limit = min(limit, int(file.read_text("ascii")))
        except (OSError, ValueError):  # no such version, or "max"
            continue
    return limit


def keep_few_heaps() -> None:
    """Let all threads share the heaps; call before there are any."""
    if mallopt := _of_glibc("mallopt"):
        mallopt(_M_ARENA_MAX, ARENAS)


def keep_freed_memory() -> None:
    """Reuse freed memory for the rest of the process, which is for training.

    A training step frees and allocates the same buffers hundreds of times. By default, glibc maps
    each block over 32 MB anew and the kernel zeroes it page by page: half of the step's time for a
    small model.
    """
    if mallopt := _of_glibc("mallopt"):
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Return memory that was freed but kept by the allocator, which keeps blocks up to 32 MB.

    A process that has loaded forty models one after the other, or translated large documents, would
    otherwise hold several times its memory. Blocks for some milliseconds, without the GIL.
    """
    if trim := _of_glibc("malloc_trim"):
        trim(0)


@cache
def _of_glibc(name: str) -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    return found
