"""The files of deploy/, and the names that they may use."""

import re
import subprocess
import sys
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


def check_schema(schema: str, file: Path) -> None:
    """Check a file against one of the schemas that come with check-jsonschema."""
    program = Path(sys.executable).with_name("check-jsonschema")
    result = subprocess.run(
        [program, "--builtin-schema", f"vendor.{schema}", file],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout


def seconds(duration: str) -> int:
    """Read compose's `40s` and `2m`."""
    match = re.fullmatch(r"(\d+)([sm])", duration)
    assert match, duration
    return int(match[1]) * {"s": 1, "m": 60}[match[2]]
