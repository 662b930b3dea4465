"""The identifier that a request has in its answer, in the log and in what its client says of it."""

from __future__ import annotations

import random
import re

from starlette.datastructures import Headers

REQUEST_ID = "X-Request-ID"

_USABLE = re.compile(r"[!-~]{1,128}")


def request_id_of(headers: Headers) -> str:
    """The client's own if it can be used, else a new one."""
    given = headers.get(REQUEST_ID, "")
    # Unlike any other, but no secret: the system's own randomness takes a call to the kernel.
    return given if _USABLE.fullmatch(given) else f"{random.getrandbits(128):032x}"
