"""The gate: each request is refused at once, or starts, a few per iteration of the loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from starlette.responses import Response
from starlette.types import Scope

AT_A_TIME = 8
"""Requests that are begun before the loop looks at its sockets again. To begin with one, up to
where it waits for an engine, takes up to a millisecond, and hundreds may come at once: probes and
refusals do not wait for all of them."""

Refusal: TypeAlias = Callable[[Scope, int], Response | None]
"""The answer to a request that has to be refused, if it has, where so many others are about to take
a place."""


def admit_all(_: Scope, _n_coming: int) -> None:
    """Refuse nothing."""


class Gate:
    """Asks about every POST as soon as its headers are there, and before anything is done for it.

    Whatever else comes is begun at once.
    """

    def __init__(self, refusal: Refusal = admit_all) -> None:
        self._refusal = refusal
        self._waiting: deque[Callable[[], None]] = deque()
        self._n_begun = 0  # since the loop looked at its sockets: they have no place yet, but will

    def enter(self, scope: Scope, begin: Callable[[], None]) -> Response | None:
        """The refusal, or None, and then `begin` is called, now or soon, in the order of entry."""
        if scope["method"] != "POST":
            begin()
            return None
        refusal = self._refusal(scope, self._n_begun + len(self._waiting))
        if refusal is None:
            if self._n_begun < AT_A_TIME:
                self._begun(1)
                begin()
            else:
                self._waiting.append(begin)
        return refusal

    def _begun(self, n: int) -> None:
        if not self._n_begun:
            asyncio.get_running_loop().call_soon(self._let_some_in)
        self._n_begun += n

    def _let_some_in(self) -> None:
        """Those begun before now run in the same turn of the loop as this, which has no sockets."""
        self._n_begun = 0
        n = min(AT_A_TIME, len(self._waiting))
        if n:
            self._begun(n)
        for _ in range(n):
            self._waiting.popleft()()
