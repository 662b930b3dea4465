"""Runs the tests of the page's modules in Node."""

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent / "page"


@pytest.mark.parametrize("path", sorted(TESTS.glob("*.test.mjs")), ids=lambda path: path.name)
def test_the_modules_of_the_page(path: Path) -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("needs node, version 20 or later")
    ran = subprocess.run([node, "--test", path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "# pass 0" not in ran.stdout
