"""Routes without FastAPI's overhead, for frequent requests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute


class PlainRoute(APIRoute):
    """A route whose endpoint takes the request, returns the response, and has no dependencies.

    FastAPI then has nothing to parse, inject or convert, but would check for each request, which
    takes longer than reading and validating a sentence.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the endpoint itself."""
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint
