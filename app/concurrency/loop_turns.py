"""Spreads long callbacks over iterations of the event loop.

The loop runs everything that is ready before it polls its sockets again. If a hundred coroutines
become ready at once and each works for ten milliseconds, everybody else waits for a second.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

SHARE = 0.02
"""Seconds of an iteration after which no further caller continues in it."""

_began: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()
"""When the first caller of the current iteration continued."""


async def turn_of_the_loop() -> None:
    """Wait for an iteration of the event loop whose share is not used up.

    The caller's work up to its next suspension counts towards the share.
    """
    loop = asyncio.get_running_loop()
    while loop in _began and loop.time() - _began[loop] >= SHARE:
        await asyncio.sleep(0)
    if loop not in _began:
        _began[loop] = loop.time()
        loop.call_soon(_began.pop, loop)  # in the next iteration
