"""Tables of cases that are kept as JSON beside the module of their test."""

import json
from pathlib import Path
from typing import Any


def cases(module: str, table: str) -> Any:
    """A table of `test_x.json` for the module `test_x.py`, which passes its `__file__`."""
    return json.loads(Path(module).with_suffix(".json").read_text("utf-8"))[table]
