"""Peak memory while a model is read, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.marian_folder import MakeFolder
from tests.marian_npz import write_npz_folder

# Four matrices of 19 MB, so that the weights dominate.
WIDE: dict[str, Any] = {"enc-depth": 1, "dec-depth": 1, "transformer-dim-ffn": 150_000}
MEASURED = """
import json, sys
from pathlib import Path
import torch
from model.checkpoint.reader import load_checkpoint
from model.interop.languages import Languages
from model.interop.marian_import import import_marian

def peak():
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

before = peak()
if len(sys.argv) == 2:
    load_checkpoint(Path(sys.argv[1]))
else:
    import_marian(Path(sys.argv[1]), Path(sys.argv[2]), None, Languages(("en",), ("fr",)))
print(json.dumps({"peak": peak() - before, "compiler": "sympy" in sys.modules}))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measured(*arguments: Path) -> tuple[int, bool]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments], check=True, capture_output=True, text=True
    )
    result = json.loads(done.stdout)
    return result["peak"], result["compiler"]


def size_of(checkpoint: Path) -> int:
    return (checkpoint / "model.safetensors").stat().st_size


def test_memory_of_an_import_is_bounded(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(
        encoder_layers=1, decoder_layers=1, encoder_ffn_dim=150_000, decoder_ffn_dim=150_000
    )
    peak, _ = measured(folder, tmp_path / "ours")
    assert peak < 2 * size_of(tmp_path / "ours")


def test_importing_an_npz_and_loading_it_take_less_than_twice_the_weights_and_no_compiler(
    tmp_path: Path,
) -> None:
    write_npz_folder(tmp_path / "theirs", **WIDE)
    imported, _ = measured(tmp_path / "theirs", tmp_path / "ours")
    loaded, compiler = measured(tmp_path / "ours")
    assert max(imported, loaded) < 2 * size_of(tmp_path / "ours")
    assert not compiler
