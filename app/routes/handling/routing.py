"""Routes that answer HEAD, and routes without FastAPI's overhead."""

from collections.abc import Callable, Coroutine
from operator import attrgetter
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

F = TypeVar("F", bound=Callable[..., Any])


class Router(APIRouter):
    """Routes that answer HEAD wherever they answer GET, and whose operation IDs are their names."""

    def __init__(self, **options: Any) -> None:
        super().__init__(generate_unique_id_function=attrgetter("name"), **options)

    def get(self, path: str, **options: Any) -> Callable[[F], F]:
        register = super().get(path, **options)

        def with_head(endpoint: F) -> F:
            self.head(path, include_in_schema=False)(endpoint)
            return register(endpoint)

        return with_head


class PlainRoute(APIRoute):
    """A route whose endpoint takes the request, returns the response, and has no dependencies.

    FastAPI then has nothing to parse, inject or convert, but would check for each request, which
    takes longer than reading and validating a sentence.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint
