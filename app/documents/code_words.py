"""What looks like a name in some program rather than a word."""

from __future__ import annotations

import re

_CODE = re.compile(r"[\d_/\\@#$:=]|[^\W\d_]\.\S|[a-z][A-Z]")


def is_code(text: str) -> bool:
    """Whether it has no blank and is such as `btn_primary`, `img/logo.png`, `#ff00aa`, `onClick`,
    `v1.2` or `text/html`.
    """
    return len(text.split()) == 1 and _CODE.search(text) is not None
