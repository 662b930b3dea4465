"""Kernels compiled by numba run in processes without it."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from model.engine.cpu.kernels.image import load_image, write_image

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="numba loads the kernels of other systems",
)

KERNELS = """
import sys
from pathlib import Path
from typing import NamedTuple
import numpy as np
from model.engine.cpu.kernels.image import load_image
from model.engine.cpu.kernels.jit import brief_kernel, kernel

class Pair(NamedTuple):
    numbers: np.ndarray
    factor: float

@kernel
def scaled(pair):
    return pair.numbers.sum() * pair.factor

@kernel
def power(x, y):
    return np.exp(x) ** y

@brief_kernel
def twice_scaled(pair, n):
    total = 0.0
    for _ in range(n):
        total += scaled(pair)
    return total

PAIR = Pair(np.arange(5.0), 0.5)

def results():
    return twice_scaled(PAIR, 2), scaled(PAIR), power(1.25, 2.5), power(0.5, -1.0)
"""

COMPILE = """
import json
from model.engine.cpu.kernels.compiling import linking
linking.LARGE = int(sys.argv[2])
found = results()
from model.engine.cpu.kernels.linker import link_kernels
link_kernels(Path(sys.argv[1]), [scaled, power, twice_scaled])
print(*map(float.hex, found))
"""

USE = """
assert load_image(Path(sys.argv[1]))
assert load_image(Path(sys.argv[1]))
found = results()
assert not {"numba", "llvmlite"} & sys.modules.keys()
print(*map(float.hex, found))
"""


def run(folder: Path, text: str, *arguments: str) -> str:
    file = folder / "kernel.py"
    file.write_text(KERNELS + text)
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, str(file), *arguments],
        env=os.environ | environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("large", ["0", "1000000"], ids=["by address", "inlined"])
def test_an_image_gives_the_bits_of_numba_without_numba(tmp_path: Path, large: str) -> None:
    image = str(tmp_path / "image")
    assert run(tmp_path, COMPILE, image, large) == run(tmp_path, USE, image) != ""


def test_other_types_are_compiled_and_errors_are_raised(tmp_path: Path) -> None:
    image = str(tmp_path / "image")
    run(tmp_path, COMPILE, image, "0")
    text = (
        "assert load_image(Path(sys.argv[1]))\n"
        "assert scaled(Pair(np.arange(5, dtype=np.float32), 0.5)) == 5\n"
        "assert 'numba' in sys.modules\n"
        "assert results()[1] == 5\n"
        "try: power(1.0)\n"
        "except TypeError: print('raised')\n"
    )
    assert run(tmp_path, text, image) == "raised\n"


def test_a_damaged_image_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    image = tmp_path / "image"
    run(tmp_path, COMPILE, str(image), "0")
    whole = image.read_bytes()
    for content in (whole[:-1], whole[:20], whole[:100] + b"?" + whole[101:]):
        image.write_bytes(content)
        assert not load_image(image)
    assert [line.split(": ")[1] for line in caplog.messages] == ["damaged, not used"] * 3
    image.write_bytes(b"")
    assert not load_image(image)
    assert not load_image(tmp_path / "none")
    assert len(caplog.messages) == 3


def test_an_image_that_needs_an_unknown_function_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = {
        "entries": [], "internal": [], "external": {"no_such_function": [0]}, "environments": [],
        "read_only": 4096,
    }  # fmt: skip
    write_image(tmp_path / "image", index, bytes(8192))
    assert not load_image(tmp_path / "image")
    [message] = caplog.messages
    assert "no_such_function" in message
    assert [one.name for one in tmp_path.iterdir()] == ["image"]
