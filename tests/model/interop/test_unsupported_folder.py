"""Unsupported folders: the error names what was found, what is supported, and the next step."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from model.errors import CheckpointError
from model.interop.marian_folder import model_name
from model.interop.marian_import import (
    import_argos,
    import_ctranslate2,
    import_firefox,
    import_m2m100,
    import_marian,
)
from model.interop.unsupported_folder import refusal
from tests.marian_folder import write_json

FOUND = {
    "adapter_config.json": ("a LoRA adapter", "merge it into its model"),
    "model.Q4_K_M.gguf": ("a GGUF file, which holds a language model", "attend pull"),
    "model_step_50000.pt": ("a checkpoint of OpenNMT-py or fairseq", "ct2-opennmt-py-converter"),
    "model.ckpt-1000.index": ("a TensorFlow checkpoint", "ct2-opennmt-tf-converter"),
    "encoder_model.onnx": ("ONNX weights", "fetch the model's model.safetensors"),
    "dict.en.txt": ("a fairseq checkpoint", "ct2-fairseq-converter, then `attend import"),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_folder_is_recognised_by_its_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    message = refusal(tmp_path)
    assert message is not None
    called, step = FOUND[name]
    assert message.startswith(f"{tmp_path}: {called} ({name}); ")
    assert step in message
    assert "attend serves its own checkpoints, and imports Marian and OPUS-MT" in message
    assert "\n" not in message


OTHERS = {
    "model.gguf": "a GGUF file, which holds a language model; attend serves",
    "checkpoint_best.pt": "a checkpoint of OpenNMT-py or fairseq; convert it with CTranslate2's",
    "opus-2020-02-26.zip": "an archive; unpack it; attend",
    "model.safetensors": "a file; give the folder of the model",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_in_place_of_a_folder(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    assert f"{path}: {OTHERS[name]}" in str(refusal(path))


def test_a_model_one_folder_down_is_found(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert "no config.json and no model of another project (it has notes, …); attend" in str(
        refusal(tmp_path)
    )
    (tmp_path / "opus-mt").mkdir()
    write_json(tmp_path / "opus-mt" / "config.json", {"model_type": "marian"})
    assert f"there is a model in {tmp_path / 'opus-mt'}; attend" in str(refusal(tmp_path))


def test_a_cache_of_the_hub_and_a_copy_of_its_links(tmp_path: Path) -> None:
    model = tmp_path / "models--Helsinki-NLP--opus-mt-en-de"
    commit = model / "snapshots" / "1234abcd"
    for folder in (model / "blobs", commit):
        folder.mkdir(parents=True)
    write_json(model / "blobs" / "b1", {"model_type": "marian"})
    (commit / "config.json").symlink_to("../../blobs/b1")
    assert f"there is a model in {commit}; attend" in str(refusal(model))
    assert model_name(commit) == "opus-mt-en-de"
    copy = shutil.copytree(commit, tmp_path / "copy", symlinks=True)
    assert model_name(copy) == "copy"
    assert f"{copy}: config.json is a link to a missing file; copy the file itself" in str(
        refusal(copy)
    )


IMPORTERS: dict[str, Callable[[Path, Path], object]] = {
    "marian": import_marian, "m2m100": import_m2m100, "firefox": import_firefox,
    "ctranslate2": import_ctranslate2, "argos": import_argos,
}  # fmt: skip


@pytest.mark.parametrize("verb", IMPORTERS)
def test_imports_of_something_else_name_the_step(verb: str, tmp_path: Path) -> None:
    convert, source, new = IMPORTERS[verb], tmp_path / "model", tmp_path / "ours"
    with pytest.raises(CheckpointError, match="no such folder; expected a"):
        convert(source, new)
    source.mkdir()
    with pytest.raises(CheckpointError, match="an empty folder; attend serves"):
        convert(source, new)
    (source / "model.gguf").touch()
    with pytest.raises(CheckpointError, match="a GGUF file"):
        convert(source, new)
    with pytest.raises(CheckpointError, match=r"model\.gguf: a GGUF file"):
        convert(source / "model.gguf", new)
    file, other = ("model.bin", "ctranslate2") if verb == "argos" else ("metadata.json", "argos")
    (source / file).touch()
    (source / ("shared_vocabulary.json" if verb == "argos" else "model")).mkdir()
    with pytest.raises(CheckpointError, match=f"not an? .*; use `attend import {other}`"):
        convert(source, new)


@pytest.mark.parametrize("verb", ["marian", "m2m100"])
def test_a_config_of_another_project_names_its_verb(verb: str, tmp_path: Path) -> None:
    source = tmp_path / "model"
    source.mkdir()
    for file in ("config.json", "shared_vocabulary.json", "model.bin"):
        (source / file).write_text("{}")
    with pytest.raises(CheckpointError, match=r"not an? .*; use `attend import ctranslate2`"):
        IMPORTERS[verb](source, tmp_path / "ours")


@pytest.mark.parametrize(
    ("kind", "called"),
    [("t5", "T5"), ("mbart", "mBART"), ("llama", "a language model"), ("x", "another")],
)
def test_architectures_are_named(kind: str, called: str, tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"model_type": kind})
    assert f"a Hugging Face model of type '{kind}', {called}" in str(refusal(tmp_path))


def test_an_empty_folder_is_reported_as_empty(tmp_path: Path) -> None:
    assert "an empty folder; attend serves" in str(refusal(tmp_path))


def test_other_folders_are_left_to_their_readers(tmp_path: Path, tiny_checkpoint: Path) -> None:
    assert refusal(tiny_checkpoint) is None
    assert refusal(tmp_path / "nowhere") is None
    (tmp_path / "config.json").write_text("not JSON")
    assert refusal(tmp_path) is None
