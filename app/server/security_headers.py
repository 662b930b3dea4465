"""Security headers for browsers."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""The policy for data, which loads nothing. Pages set their own policies."""


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


_OF_PAGES = _raw(ALWAYS)
OF_DATA = _raw(ALWAYS | {"Content-Security-Policy": DATA_POLICY})
"""The headers for data, as sent."""


class SecurityHeaders:
    """Adds security headers that a response does not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = dict(message["headers"])  # names in lower case, as in ASGI
                is_page = own.get(b"content-type", b"").startswith(b"text/html")
                headers = _OF_PAGES if is_page else OF_DATA
                added = [header for header in headers if header[0] not in own]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, send_with_headers)
