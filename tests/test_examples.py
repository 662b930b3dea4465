"""The examples of docs/api.md that need no more than a server, run against the shipped checkpoint.

A comment behind `print` says what is printed there, which may change with the checkpoint; that
there is something, and as much of it, may not.
"""

import contextlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.shipped import SHIPPED_CHECKPOINT
from tests.app.server_process import serving

API = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
DOCUMENTED_URL = "http://127.0.0.1:8000"
PYTHON = re.findall(r"```python\n(.*?)```", API, re.DOTALL)
SHELL = [
    command
    for block in re.findall(r"```sh\n(.*?)```", API, re.DOTALL)
    for command in re.split(r"(?<!\\)\n", block)
    if command
]


@pytest.fixture(scope="module")
def url(kernels: None) -> Iterator[str]:
    with serving(SHIPPED_CHECKPOINT, "--threads", "1") as (_, client):
        yield str(client.base_url).rstrip("/")


@pytest.mark.parametrize("example", PYTHON)
def test_python(url: str, example: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example.replace(DOCUMENTED_URL, url), {})
    lines = printed.getvalue().splitlines()
    assert len(lines) == len(re.findall(r"^print\(.*\)  # .+$", example, re.MULTILINE)) > 0
    assert all(lines)


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
@pytest.mark.parametrize("example", SHELL)
def test_curl(url: str, example: str) -> None:
    command = example.replace(DOCUMENTED_URL, url).replace("curl ", "curl --silent --fail ", 1)
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout)
