"""Routes that are asked so often that what they do not need is left out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute


class PlainRoute(APIRoute):
    """One whose endpoint takes the request and returns the response, and has no dependencies.

    FastAPI has nothing to parse, inject or convert then, but looks for it at every request, which
    takes it longer than to read and to validate a sentence.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint itself."""
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint
