import json
import os
import pickle
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from model.errors import CheckpointError
from model.interop.huggingface.marian_weights import (
    OUTSIDE_LAYERS,
    embeddings,
    final_norm_names,
    layer_names,
)
from model.interop.huggingface.weight_files import read_tensors, weights_file
from model.transformer import parameter_names as names
from tests.model.make_model import MakeModel


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
def test_a_file_of_another_format(tmp_path: Path, content: object) -> None:
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


def write_shards(folder: Path, suffix: str, **changes: object) -> Path:
    """Two tensors in two shards; returns the index."""
    for name in ("a", "b"):
        file = f"part-{name}{suffix}"
        tensors = {name: torch.full((3,), float(name == "b"))}
        if suffix == ".bin":
            torch.save(tensors, folder / file)
        else:
            save_file(tensors, folder / file)
    stem = "pytorch_model" if suffix == ".bin" else "model"
    index = folder / f"{stem}{suffix}.index.json"
    shards: dict[str, object] = {name: f"part-{name}{suffix}" for name in ("a", "b")}
    index.write_text(json.dumps({"metadata": {}, "weight_map": shards | changes}))
    return index


@pytest.mark.parametrize("suffix", [".bin", ".safetensors"])
def test_shards_are_found_by_their_index(tmp_path: Path, suffix: str) -> None:
    index = write_shards(tmp_path, suffix)
    assert weights_file(tmp_path) == index
    tensors = read_tensors(index)
    assert {name: tensor.tolist() for name, tensor in tensors.items()} == {
        "a": [0, 0, 0], "b": [1, 1, 1],
    }  # fmt: skip
    assert "c" not in tensors
    assert len(tensors) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": "part-b.bin"}, "tensor 'c' is missing"),
        ({"c": "part-c.bin"}, "part-c.bin: No such file"),
        ({"c": "../part-b.bin"}, "names '../part-b.bin', not a file *.bin of the folder"),
        ({"c": 7}, "names 7, not a file"),
        ({"c": "part-b.safetensors"}, "not a file *.bin"),
    ],
)
def test_an_index_that_is_wrong(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    index = write_shards(tmp_path, ".bin", **changes)
    with pytest.raises(CheckpointError, match=re.escape(message)):
        read_tensors(index)


def test_an_index_of_nothing(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    contents: list[dict[str, object]] = [{}, {"weight_map": []}, {"weight_map": {}}]
    for content in contents:
        index.write_text(json.dumps(content))
        assert "'weight_map' must be an object" in refusal(index)


def test_weights_of_another_program_are_named(tmp_path: Path) -> None:
    (tmp_path / "tf_model.h5").touch()
    with pytest.raises(CheckpointError, match=r"in shards with an index \(there is tf_model.h5\)"):
        weights_file(tmp_path)


def test_the_shared_matrix_stands_for_all_three(tmp_path: Path) -> None:
    shared = {"model.shared.weight": torch.rand(5, 4), "final_logits_bias": torch.zeros(1, 5)}
    found = embeddings(tmp_path, shared, tie=True, share=True)
    assert found.shared
    assert found.tied
    assert found.bias is None


def test_embeddings_declared_shared_that_differ(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("order", ["pre", "post"])
def test_every_parameter_has_one_name_on_each_side(make_model: MakeModel, order: str) -> None:
    model = make_model(norm_order=order)
    ours = {name for name, _ in model.named_parameters() if name.startswith(tuple(names.STACKS))}
    pairs = list(chain(layer_names(model.config), final_norm_names(model.config)))
    assert {one for one, _ in pairs} == ours
    assert len(dict(pairs)) == len({other for _, other in pairs}) == len(pairs)
    assert not OUTSIDE_LAYERS & {other for _, other in pairs}


def test_names_are_those_of_transformers(make_model: MakeModel) -> None:
    table = dict(layer_names(make_model().config))
    assert len(set(table.values())) == len(table)
    for expected in (
        "model.encoder.layers.1.self_attn.out_proj.weight",
        "model.decoder.layers.2.encoder_attn.q_proj.bias",
        "model.decoder.layers.0.encoder_attn_layer_norm.weight",
        "model.decoder.layers.0.fc2.bias",
        "model.encoder.layers.0.final_layer_norm.weight",
    ):
        assert expected in table.values()
