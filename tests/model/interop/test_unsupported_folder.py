"""Folders that cannot be served: the error says what was found, is supported and would help."""

from pathlib import Path

import pytest

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
def test_files_tell_what_a_folder_is(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    told = refusal(tmp_path)
    assert told is not None
    called, step = FOUND[name]
    assert told.startswith(f"{tmp_path}: {called} ({name}); ")
    assert step in told
    assert "attend serves its own checkpoints, and imports Marian and OPUS-MT" in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("kind", "called"),
    [("t5", "T5"), ("mbart", "mBART"), ("llama", "a language model"), ("x", "another")],
)
def test_architectures_are_named(kind: str, called: str, tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"model_type": kind})
    assert f"a Hugging Face model of type '{kind}', {called}" in str(refusal(tmp_path))


def test_an_empty_folder_is_called_so(tmp_path: Path) -> None:
    assert "an empty folder; attend serves" in str(refusal(tmp_path))


def test_other_folders_are_left_to_their_readers(tmp_path: Path, tiny_checkpoint: Path) -> None:
    assert refusal(tiny_checkpoint) is None
    assert refusal(tmp_path / "nowhere") is None
    (tmp_path / "config.json").write_text("not JSON")
    assert refusal(tmp_path) is None
