"""Tables of cases, as JSON next to the test module."""

import json
from pathlib import Path
from typing import Any


def cases(module: str, table: str) -> Any:
    """Return a table of `test_x.json`; the module `test_x.py` passes its `__file__`."""
    return json.loads(Path(module).with_suffix(".json").read_text("utf-8"))[table]
