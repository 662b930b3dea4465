"""The native dialect's body of POST /detect."""

from __future__ import annotations

from app.wire.native.request import Texts, WireRequest


class DetectRequest(WireRequest):
    """The body of POST /detect."""

    text: Texts
