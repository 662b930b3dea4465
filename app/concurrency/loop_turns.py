"""Iterations of the event loop, of which long callbacks get one each.

The loop runs everything that is ready before it looks at its sockets again. If a hundred coroutines
become ready at once and each works for ten milliseconds, everybody else waits for a second.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def own_iteration() -> None:
    """Wait until an iteration of the event loop in which no other caller goes on. First come first.

    What the caller does next, up to its next suspension, is then followed by a look at the sockets.
    """
    async with _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await asyncio.sleep(0)
