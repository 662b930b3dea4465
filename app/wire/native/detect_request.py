"""The native dialect's request of POST /detect, as it is on the wire."""

from __future__ import annotations

from app.wire.native.request import Texts, WireRequest


class DetectRequest(WireRequest):
    """The body of POST /detect."""

    text: Texts
