"""The request ID, in responses and in the log."""

import random
import re

from starlette.datastructures import Headers

REQUEST_ID = "X-Request-ID"

_USABLE = re.compile(r"[!-~]{1,128}")


def request_id_of(headers: Headers) -> str:
    """Return the client's request ID if it is valid, else a new one."""
    given = headers.get(REQUEST_ID, "")
    # Unique but not secret: the system's randomness would take a system call.
    return given if _USABLE.fullmatch(given) else f"{random.getrandbits(128):032x}"
