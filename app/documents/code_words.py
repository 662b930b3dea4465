"""Detects identifiers of programs among words."""

from __future__ import annotations

import re

_CODE = re.compile(r"[\d_/\\@#$:=]|[^\W\d_]\.\S|[a-z][A-Z]")


def is_code(text: str) -> bool:
    """Whether it has no space and looks like `btn_primary`, `img/logo.png`, `#ff00aa`, `onClick`,
    `v1.2` or `text/html`.
    """
    return len(text.split()) == 1 and _CODE.search(text) is not None
