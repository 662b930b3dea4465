from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from model.errors import CheckpointError
from model.tensor_file import TensorFile

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.float16)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file(TENSORS, tmp_path / "x.safetensors")
    return tmp_path / "x.safetensors"


def test_it_is_a_mapping_of_the_tensors(path: Path) -> None:
    file = TensorFile(path)
    assert (len(file), set(file), "a" in file, "c" in file) == (2, {"a", "b"}, True, False)
    for name, tensor in TENSORS.items():
        assert torch.equal(file[name], tensor)
        assert file[name].dtype == tensor.dtype
    with pytest.raises(KeyError):
        file["c"]


def test_a_tensor_is_read_anew_and_belongs_to_who_asked(path: Path) -> None:
    file = TensorFile(path)
    file["a"].zero_()
    assert torch.equal(file["a"], TENSORS["a"])


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "No such file"), (b"", "damaged or not"), (b"x" * 100, "damaged or not")],
)
def test_a_file_that_is_not_one_is_one_line(
    tmp_path: Path, content: bytes | None, told: str
) -> None:
    path = tmp_path / "x.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=told) as caught:
        TensorFile(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_cut_while_it_is_open_is_one_line(path: Path) -> None:
    file = TensorFile(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(CheckpointError, match="damaged or not a safetensors file"):
        file["a"]
