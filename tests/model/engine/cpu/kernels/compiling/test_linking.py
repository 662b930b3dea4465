import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = """
import sys
from model.engine.cpu.kernels import jit
from model.engine.cpu.kernels.compiling import linking
linking.LARGE = int(sys.argv[1])
@jit.kernel
def double(x): return 2 * x
def make():
    @jit.kernel
    def local(x): return x + 1
    return local
local = make()
@jit.kernel
def four(x): return double(double(local(x)))
@jit.kernel
def five(x): return four(x) + 1
assert five(0) == 5 and five(2) == 13
for kernel in four, five:
    for result in kernel.dispatcher.overloads.values():
        print(kernel.__name__, *(one.name for one in result.library.calls.values()))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.py"
    file.write_text(KERNELS)
    return file


def run(program: Path, large: int) -> tuple[list[str], bool]:
    """Return the calls by address between loaded kernels, and whether anything was compiled."""
    folder = program.parent / "cache"
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, str(program), str(large)],
        env=os.environ | environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.splitlines(), "compiling" in done.stderr


def test_a_large_kernel_is_called_by_its_address_and_all_else_is_inlined(program: Path) -> None:
    """A kernel that no module names cannot be found when its caller is loaded, so it is inlined."""
    assert run(program, large=0) == (["four double", "five four"], True)
    assert run(program, large=0) == (["four double", "five four"], False)
    # If a kernel is compiled again, so are its callers.
    for file in program.parent.rglob("kernel.double*"):
        file.unlink()
    assert run(program, large=0) == (["four double", "five four"], True)
    assert run(program, large=0) == (["four double", "five four"], False)


def test_small_kernels_are_inlined(program: Path) -> None:
    assert run(program, large=1_000_000) == (["four", "five"], True)
    assert run(program, large=1_000_000) == (["five"], False)
