"""Headers by which a browser is told to make no more of an answer than it is."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""Of what is no page, and so has nothing to load. A page says itself what it needs."""


class SecurityHeaders:
    """Adds them where an answer has not its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
                if not headers.get("content-type", "").startswith("text/html"):
                    headers.setdefault("Content-Security-Policy", DATA_POLICY)
            await send(message)

        await self._app(scope, receive, send_with_headers)
