import os
import subprocess
import sys
from pathlib import Path


def test_the_first_compilation_is_announced_and_later_ones_are_not(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(
        "from model.engine.cpu.kernels import jit\n"
        "@jit.kernel\n"
        "def double(x): return 2 * x\n"
        "double(21), double(2.1)\n"
    )
    cache = tmp_path / "cache"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(cache),
    }
    said = [
        subprocess.run(
            [sys.executable, str(file)], env=environment, check=True, capture_output=True, text=True
        ).stderr.splitlines()
        for _ in range(2)
    ]
    [[line], from_the_cache] = said
    assert line.startswith("compiling kernels")
    assert str(cache) in line
    assert from_the_cache == []
