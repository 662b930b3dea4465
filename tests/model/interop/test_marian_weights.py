from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from model.errors import CheckpointError
from model.interop.marian_weights import embeddings, read_tensors, weights_file


def refusal(path: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_tensors(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


class Malice:
    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._mark),)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path: Path, zipped: bool) -> None:
    mark, path = tmp_path / "executed", tmp_path / "pytorch_model.bin"
    if zipped:
        torch.save({"a": torch.zeros(2), "b": Malice(mark)}, path)
    else:
        path.write_bytes(pickle.dumps(Malice(mark)))
    assert "not a file of plain tensors" in refusal(path)
    assert not mark.exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_truncated_pickle(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "pytorch_model.bin"
    torch.save({"a": torch.rand(400)}, path, _use_new_zipfile_serialization=zipped)
    assert read_tensors(path)["a"].shape == (400,)
    path.write_bytes(path.read_bytes()[:-700])
    refusal(path)


def test_a_truncated_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"a": torch.rand(400)}, path)
    path.write_bytes(path.read_bytes()[:-1])
    refusal(path)


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.touch()
    refusal(path)


@pytest.mark.parametrize("content", [[torch.zeros(1)], {"a": 1}, {1: torch.zeros(1)}])
def test_a_file_of_something_else(tmp_path: Path, content: object) -> None:
    path = tmp_path / "pytorch_model.bin"
    torch.save(content, path)
    assert "not a dictionary of tensors by name" in refusal(path)


def test_safetensors_are_preferred_to_a_pickle(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="neither model"):
        weights_file(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    assert weights_file(tmp_path).name == "pytorch_model.bin"
    (tmp_path / "model.safetensors").touch()
    assert weights_file(tmp_path).name == "model.safetensors"


def test_the_shared_matrix_stands_for_all_three(tmp_path: Path) -> None:
    shared = {"model.shared.weight": torch.rand(5, 4), "final_logits_bias": torch.zeros(1, 5)}
    found = embeddings(tmp_path, shared, tie=True, share=True)
    assert found.shared
    assert found.tied
    assert found.bias is None


def test_what_is_said_to_be_one_but_is_not(tmp_path: Path) -> None:
    tensors = {"model.shared.weight": torch.rand(5, 4), "lm_head.weight": torch.rand(5, 4)}
    with pytest.raises(CheckpointError, match="the output is declared as tied to the embedding"):
        embeddings(tmp_path, tensors, tie=True, share=True)
    assert not embeddings(tmp_path, tensors, tie=False, share=True).tied
    tensors = {
        "model.encoder.embed_tokens.weight": torch.rand(5, 4),
        "model.decoder.embed_tokens.weight": torch.rand(5, 4),
    }
    with pytest.raises(CheckpointError, match="the embeddings are declared as shared"):
        embeddings(tmp_path, tensors, tie=True, share=True)
    assert not embeddings(tmp_path, tensors, tie=True, share=False).shared


def test_a_missing_embedding(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="embed_tokens"):
        embeddings(tmp_path, {}, tie=True, share=True)
