"""Limits the number of connections to what the limit on open files allows."""

from __future__ import annotations

import os
import resource

import structlog

RESERVED = 16
"""Reserved for files opened later: checkpoints, the database, spans, probes."""

_log = structlog.get_logger()


def affordable_connections(maximum: int, n_listening: int) -> int:
    """Return `maximum`, or as many as the limit on open files (`ulimit -n`) allows; at least one.

    The soft limit is raised as needed and as the hard one allows. Beyond it the process could not
    accept connections, and clients would wait or be reset. `n_listening` descriptors will listen.
    """
    taken = len(os.listdir("/dev/fd")) + n_listening + RESERVED  # noqa: PTH208
    needed = taken + maximum
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return maximum
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft >= needed:
        return maximum
    allowed = max(1, soft - taken)
    _log.warning(
        "fewer connections", wanted=maximum, max_connections=allowed, open_files_limit=soft
    )
    return allowed
