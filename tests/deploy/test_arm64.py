import os
import struct
import subprocess
import sys
from pathlib import Path

from tests.deploy.files import ROOT

EM_AARCH64 = 183

CODE = """
import runpy, sys
runpy.run_path(sys.argv[1])["pretend"]()
from model.engine.cpu.kernels.instructions import INSTRUCTION
from model.engine.cpu.kernels.jit import kernel

@kernel
def doubled(number):
    return 2 * number

assert doubled(3) == 1  # not called: it is ARM64's
[compiled] = doubled.dispatcher.overloads.values()
sys.stderr.write(INSTRUCTION.name)
sys.stdout.buffer.write(compiled.library._get_compiled_object())
"""


def test_kernels_are_compiled_for_arm64_on_any_machine(tmp_path: Path) -> None:
    variables = {"KERNEL_TARGET": "armv8.2-a-dotprod", "XDG_CACHE_HOME": str(tmp_path)}
    script = tmp_path / "compile.py"
    script.write_text(CODE)
    printed = subprocess.run(
        [sys.executable, str(script), str(ROOT / "deploy" / "arm64" / "kernels.py")],
        env=os.environ | variables | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert printed.stderr.decode().splitlines()[-1] == "sdot"
    assert struct.unpack_from("<H", printed.stdout, 18) == (EM_AARCH64,)
