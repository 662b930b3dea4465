"""Limits the number of connections to what the limit on open files allows."""

from __future__ import annotations

import os
import resource

import structlog

RESERVED = 16
"""Reserved for files opened later: checkpoints, the database, spans, probes."""

_log = structlog.get_logger()


def affordable_connections(wanted: int, n_listening: int) -> int:
    """Return `wanted`, or as many as the limit on open files (`ulimit -n`) allows; at least one.

    The soft limit is raised as far as needed and as the hard one allows. Beyond it the kernel would
    not let the process accept connections, and clients would wait or be reset, unnoticed.
    `n_listening` descriptors will listen.
    """
    taken = len(os.listdir("/dev/fd")) + n_listening + RESERVED  # noqa: PTH208
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < taken + wanted:
        needed = taken + wanted
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = raised
    if soft == resource.RLIM_INFINITY or soft >= taken + wanted:
        return wanted
    allowed = max(1, soft - taken)
    _log.warning("fewer connections", wanted=wanted, max_connections=allowed, open_files_limit=soft)
    return allowed
