"""The memory that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

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
