import os
import subprocess
import sys
from pathlib import Path

import pytest

from model.engine.cpu.kernels.target import family

KERNELS = """
import sys
from model.engine.cpu.kernels import jit
from model.engine.cpu.kernels.compiling.overloads import has_wrapper
@jit.kernel
def double(x): return 2 * x
@jit.kernel
def six(x): return double(x) + double(1)
exec(sys.argv[1])
"""


def run(tmp_path: Path, text: str, **variables: str) -> str:
    """Run Python with a separate kernel cache; return its log."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNELS)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, str(file), text],
        env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_first_compilation_is_announced_and_all_are_kept(tmp_path: Path) -> None:
    """A constant is compiled as any number.

    Inner kernels have no wrapper; one called from Python is compiled and cached again with one.
    """
    [line] = run(
        tmp_path,
        "assert six(2) == 6\n"
        "[inner] = double.dispatcher.overloads.values()\n"
        "[outer] = six.dispatcher.overloads.values()\n"
        "assert has_wrapper(outer) and not has_wrapper(inner)\n"
        "assert double(4) == 8 and double(2.5) == 5\n",
    ).splitlines()
    assert line.startswith("compiling kernels")
    assert str(tmp_path / "cache") in line
    assert run(tmp_path, "assert double(4) == 8 and double(2.5) == 5 and six(2) == 6\n") == ""


def test_kernels_may_be_compiled_for_another_processor(tmp_path: Path) -> None:
    """They are not usable here; afterwards, kernels for this processor are compiled in addition."""
    text = (
        "from model.engine.cpu.kernels.target import ONLY_COMPILES, TARGET\n"
        "assert six(2) == (1 if ONLY_COMPILES else 6)\n"
    )
    for target in family()[:3:2]:
        announced = run(tmp_path, text, KERNEL_TARGET=target.name)
        assert announced.startswith(f"compiling kernels for {target.name};")


def test_every_module_imports_the_target_before_numba_makes_its_compiler(tmp_path: Path) -> None:
    text = (
        "import model.engine.compile\n"
        "from model.engine.cpu.kernels.compiling import llvm\n"
        "from model.engine.cpu.kernels.target import TARGETS, runs_here\n"
        "from numba.core.registry import cpu_target\n"
        "_, name, features = cpu_target.target_context.codegen().magic_tuple()\n"
        "here = [one for one in TARGETS if runs_here(one)]\n"
        "assert not here or (name, features) == (here[0].cpu, here[0].options)\n"
    )
    file = tmp_path / "program.py"
    file.write_text(text)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(file)], env=environment, check=True)
    file.write_text("import numba\nnumba.njit(lambda: 1)()\n" + text.replace("not here or", "not"))
    subprocess.run([sys.executable, str(file)], env=environment, check=True)


def test_a_wheel_may_bring_compiled_kernels(tmp_path: Path) -> None:
    run(tmp_path, "assert six(2) == 6\n")
    (tmp_path / "cache" / "attend" / "kernels").rename(tmp_path / "compiled")
    text = (
        "from pathlib import Path\n"
        "from model.engine.cpu.kernels.compiling import overloads\n"
        f"overloads.SHIPPED_FOLDER = Path({str(tmp_path / 'compiled')!r})\n"
        "for one in (double.dispatcher, six.dispatcher):\n"
        "    one._cache = overloads.KernelCache(one.py_func, one.targetoptions)\n"
    )
    assert run(tmp_path, text + "assert six(2) == 6\n") == ""
    assert not list((tmp_path / "cache").rglob("*.nbc"))
    assert run(tmp_path, text + "assert six(2.0) == 6.0\n").startswith("compiling kernels")


def test_a_target_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"'x86-64-v9' is none of x86-64-v4-vnni, x86-64-v4"):
        run(tmp_path, "double(1)", KERNEL_TARGET="x86-64-v9")
