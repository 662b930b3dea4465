"""Converts a Marian or OPUS-MT folder to a checkpoint (docs/interop.md)."""

from __future__ import annotations

from pathlib import Path

from model.checkpoint.config import (
    CARD_FILE,
    CONFIG_FILE,
    TRAINING_FILE,
    CheckpointConfig,
    read_config,
    read_file,
)
from model.checkpoint.golden import read_golden
from model.checkpoint.reader import read_tokenizer
from model.checkpoint.writer import check_new_folder, save_checkpoint
from model.errors import CheckpointError
from model.interop.foreign_model import ForeignModel
from model.interop.huggingface import key_map
from model.interop.huggingface.config_files import read_object
from model.interop.huggingface.marian_weights import embeddings, renamed
from model.interop.huggingface.weight_files import read_tensors, weights_file
from model.interop.huggingface_reader import read_huggingface
from model.interop.languages_said import NOT_SAID, Languages
from model.interop.m2m100_reader import read_m2m100
from model.interop.marian_folder import KEPT_FOLDER, holds_npz
from model.interop.npz_reader import read_npz_folder
from model.interop.position_layout import to_interleaved
from model.interop.tensor_check import check_tensors

_CARD = """# {name}

A {project} model, imported by attend from {origin}. For its licence, training
data and credits, see its publisher.
"""


def import_marian(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = NOT_SAID
) -> CheckpointConfig:
    """Write a checkpoint to `destination`, atomically. `name` defaults to the folder's.

    Raises `CheckpointError` if anything in the folder is missing, damaged or unsupported.
    """
    if not folder.is_dir():
        reason = "not a folder" if folder.exists() else "no such folder"
        raise CheckpointError(f"{folder}: {reason}; expected a Marian model")
    check_new_folder(destination)
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        if languages.sources or languages.targets:
            raise CheckpointError(f"{folder}: exported by attend, so its languages are fixed")
        return _restore(folder, destination, name)
    in_npz = holds_npz(folder) and not (folder / CONFIG_FILE).exists()
    read = (read_npz_folder if in_npz else read_huggingface)(folder, languages)
    return _write(read, folder, destination, name)


def import_m2m100(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = NOT_SAID
) -> CheckpointConfig:
    """As `import_marian`, for M2M-100 and NLLB in Hugging Face format."""
    if not folder.is_dir():
        reason = "not a folder" if folder.exists() else "no such folder"
        raise CheckpointError(f"{folder}: {reason}; expected an M2M-100 or NLLB model")
    check_new_folder(destination)
    return _write(read_m2m100(folder, languages), folder, destination, name)


def _write(
    read: ForeignModel, folder: Path, destination: Path, name: str | None
) -> CheckpointConfig:
    config = CheckpointConfig(
        name=name or folder.resolve().name,
        directions=read.directions,
        beam_size=read.beam_size,
        length_penalty=read.length_penalty,
        search_rule=read.rule,
        marian_vocabulary=read.marian_vocabulary,
        multilingual_vocabulary=read.multilingual_vocabulary,
        transformer=read.shape,
    )
    save_checkpoint(
        destination,
        config,
        read.weights,
        read.tokenizer,
        _CARD.format(name=config.name, project=read.project, origin=read.origin),
        {"imported_from": f"{read.project}, {read.origin}"},
    )
    return config


def _restore(folder: Path, destination: Path, name: str | None) -> CheckpointConfig:
    """Restore a checkpoint that attend exported, optionally under another name."""
    kept = folder / KEPT_FOLDER
    config = read_config(kept)
    if name:
        config = config.model_copy(update={"name": name})
    shape = config.transformer
    path = weights_file(folder)
    tensors = read_tensors(path)
    found = embeddings(path, tensors, tie=shape.tie_output, share=shape.share_embeddings)
    weights = dict(renamed(path, tensors, shape, found))
    if shape.output_bias and key_map.OUTPUT_BIAS in tensors:  # even if it is zero
        weights["output.bias"] = tensors[key_map.OUTPUT_BIAS].flatten()
    check_tensors(path, shape, weights)
    if shape.position_layout == "interleaved":
        weights = to_interleaved(weights, shape.d_model)
    tokenizer = read_tokenizer(folder if config.marian_vocabulary else kept, config)
    card = read_file(kept / CARD_FILE).decode("utf-8", errors="replace")
    training = read_object(kept / TRAINING_FILE)
    golden = read_golden(kept, config.directions)
    save_checkpoint(destination, config, weights, tokenizer, card, training, golden)
    return config
