"""Example requests and responses in /openapi.json, in the shipped checkpoint's languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""By the request or response that they are examples of."""
