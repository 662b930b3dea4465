"""The files of deploy/ as the tests read them, and what they may name."""

import re
from pathlib import Path
from typing import Any

import yaml

from app.settings import Settings, env_name

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
VARIABLES = {env_name(setting) for setting in Settings.model_fields}
DRAIN_DELAY = env_name("drain_delay")
SHUTDOWN_TIMEOUT = env_name("shutdown_timeout")


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def seconds(duration: str) -> int:
    """Of compose's `40s` and `2m`."""
    match = re.fullmatch(r"(\d+)([sm])", duration)
    assert match, duration
    return int(match[1]) * {"s": 1, "m": 60}[match[2]]
