import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from model.checkpoint.tensor_file import TensorFile
from model.errors import CheckpointError

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "half": torch.tensor([1, 1 / 3], dtype=torch.float16),
    "double": torch.tensor([2, 1 / 3], dtype=torch.float64),
    "bfloat16": torch.tensor([3, 1 / 3], dtype=torch.bfloat16),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file(TENSORS, tmp_path / "x.safetensors")
    return tmp_path / "x.safetensors"


def test_it_is_a_mapping_of_the_tensors_in_float32(path: Path) -> None:
    file = TensorFile(path)
    assert (len(file), set(file), "a" in file, "c" in file) == (4, set(TENSORS), True, False)
    for name, tensor in TENSORS.items():
        assert file[name].dtype == np.float32
        assert np.array_equal(file[name], tensor.float().numpy())
    with pytest.raises(KeyError):
        file["c"]


def test_each_access_reads_a_tensor_of_its_own(path: Path) -> None:
    file = TensorFile(path)
    file["a"][:] = 0
    assert np.array_equal(file["a"], TENSORS["a"].numpy())


def test_integers_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"n": torch.arange(3)}, path)
    with pytest.raises(CheckpointError, match=r"tensor 'n' has type I64, not floating-point"):
        TensorFile(path)["n"]


def test_reading_what_numpy_has_takes_no_torch(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({name: TENSORS[name] for name in ("a", "half", "double")}, path)
    code = (
        "import sys; from pathlib import Path; "
        "from model.checkpoint.tensor_file import TensorFile; "
        "print(len(dict(TensorFile(Path(sys.argv[1])))), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(path)]
    assert subprocess.check_output(command, text=True).split() == ["3", "False"]


def test_a_file_that_is_cut_while_it_is_open_is_reported_in_one_line(path: Path) -> None:
    file = TensorFile(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(CheckpointError, match="damaged: it became shorter"):
        list(file.values())
