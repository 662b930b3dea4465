"""Admission of requests: each is rejected at once or starts, a few per iteration of the loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from starlette.responses import Response
from starlette.types import Scope

AT_A_TIME = 8
"""Requests started per iteration of the loop. Starting one, until it waits for an engine, takes up
to a millisecond, and hundreds may arrive at once: probes and rejections must not wait for all of
them."""

Refusal: TypeAlias = Callable[[Scope, int], Response | None]
"""Returns the response to a request that must be rejected, else None, given the number of other
requests about to be admitted."""


def admit_all(_: Scope, _n_coming: int) -> None:
    """Refuse nothing."""


class Gate:
    """Checks every POST once its headers are received, before any other work.

    Other methods start at once.
    """

    def __init__(self, refusal: Refusal = admit_all) -> None:
        self._refusal = refusal
        self._waiting: deque[Callable[[], None]] = deque()
        self._n_begun = 0  # in this iteration: not yet admitted, but about to be

    def enter(self, scope: Scope, begin: Callable[[], None]) -> Response | None:
        """Return the rejection, or None; then `begin` is called, now or soon, in order of entry."""
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
        """Start more. Those started earlier run in the same iteration, without polling sockets."""
        self._n_begun = 0
        n = min(AT_A_TIME, len(self._waiting))
        if n:
            self._begun(n)
        for _ in range(n):
            self._waiting.popleft()()
