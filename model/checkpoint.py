"""A checkpoint is a folder: configuration, weights, vocabulary, card and training settings.

Written whole or not at all, read strictly: every way in which a folder can be wrong is one
`CheckpointError` that names the file and the reason. Nothing in it is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors.torch import save_file
from torch import Tensor

from model.alignment import AlignmentMethod
from model.config import TransformerConfig, describe_validation
from model.decoding.hypothesis import MAX_LENGTH_PENALTY, HuggingFaceRule
from model.errors import CheckpointError, TokenizerError
from model.marian_tokenizer import MarianTokenizer
from model.tensor_file import TensorFile
from model.text_codec import TextCodec
from model.tokenizer import TOKENIZER_FILE, Tokenizer
from model.transformer import Transformer, transformer_without_weights

FORMAT: Literal["attend"] = "attend"
VERSION: Literal[1] = 1

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "CARD.md"
TRAINING_FILE = "training.json"


class MarianVocabulary(BaseModel):
    """The checkpoint has Marian's vocabulary files in place of one SentencePiece model.

    separate        the target has ids of its own, in target_vocab.json
    target_symbols  API code → symbol, such as `fr` → `>>fra<<`; empty with a single target
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    separate: bool = False
    target_symbols: dict[str, str] = {}


class CheckpointConfig(BaseModel):
    """config.json: what the folder holds and what it can translate. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["attend"] = FORMAT
    version: Literal[1] = VERSION
    name: str = Field(min_length=1, description="what the API calls the model")
    directions: list[tuple[str, str]] = Field(min_length=1, description="source, target languages")
    beam_size: int = Field(4, ge=1, le=8, description="the search's default")
    length_penalty: float = Field(0.6, ge=0, le=MAX_LENGTH_PENALTY)
    search_rule: HuggingFaceRule | None = Field(
        None, description="search as another project does; null is attend's own rule"
    )
    marian_vocabulary: MarianVocabulary | None = Field(
        None, description="null: sentencepiece.model, with a symbol per target language"
    )
    alignment: AlignmentMethod | None = Field(
        None, description="how it aligns words best; null: the mean of the last layer's heads"
    )
    transformer: TransformerConfig

    @model_validator(mode="after")
    def _distinct_directions(self) -> Self:
        if len(set(self.directions)) != len(self.directions):
            raise ValueError("directions has a pair twice")
        return self

    @model_validator(mode="after")
    def _alignment_is_possible(self) -> Self:
        method, shape = self.alignment or AlignmentMethod(), self.transformer
        for name, n in (("layer", shape.n_decoder_layers), ("head", shape.n_heads_of_decoder)):
            if (index := getattr(method, name) or 0) >= n:
                raise ValueError(f"alignment.{name} {index} is not one of the decoder's")
        if method.both_directions and not self.is_two_way:
            raise ValueError("alignment.both_directions needs the reverse of every direction")
        return self

    @property
    def is_two_way(self) -> bool:
        """Whether it translates every direction back as well."""
        return {(target, source) for source, target in self.directions} <= set(self.directions)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder's content, loaded.

    digest  SHA-256 over configuration, weights and vocabulary: one digest, one set of answers
    """

    folder: Path
    config: CheckpointConfig
    model: Transformer
    tokenizer: TextCodec
    digest: str


def load_checkpoint(folder: Path, device: torch.device | None = None) -> Checkpoint:
    """Read a folder strictly, onto `device` (default CPU), in float32. Raises `CheckpointError`."""
    config = read_config(folder)
    tokenizer = read_tokenizer(folder, config)
    weights = TensorFile(folder / WEIGHTS_FILE)
    model = transformer_without_weights(config.transformer)
    check_weights(folder / WEIGHTS_FILE, model, weights)
    model.materialise(device or torch.device("cpu"))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    model.eval()
    return Checkpoint(folder, config, model, tokenizer, _digest(folder, tokenizer))


def read_config(folder: Path) -> CheckpointConfig:
    """The configuration alone, without the weights. Raises `CheckpointError`."""
    if not folder.is_dir():
        reason = "not a folder" if folder.exists() else "no such folder"
        raise CheckpointError(f"{folder}: {reason}; expected a checkpoint written by attend")
    path = folder / CONFIG_FILE
    written = read_file(path)
    try:
        values = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        hint = ""
        if isinstance(values, dict) and "model_type" in values:
            hint = f" (a Hugging Face {values['model_type']!r} model?)"
            if values["model_type"] == "marian":
                hint = " (a Marian model: `attend import marian` makes a checkpoint of it)"
        raise CheckpointError(f"{path}: not the configuration of an attend checkpoint{hint}")
    version = values.get("version")
    if version is True or version != VERSION:
        raise CheckpointError(
            f"{path}: format version {version!r}, this attend reads version {VERSION}"
        )
    try:
        return CheckpointConfig.model_validate_json(written)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {describe_validation(error)}") from None


def save_checkpoint(  # noqa: PLR0917  (the parts of the folder, in its order)
    folder: Path,
    config: CheckpointConfig,
    weights: Mapping[str, Tensor],
    tokenizer: TextCodec,
    card: str,
    training: Mapping[str, Any],
) -> None:
    """Write a folder whole or not at all; a checkpoint that is there is replaced, at the very end.

    `weights` are a `Transformer`'s parameters by name, shared ones once, in any floating type.
    Raises `CheckpointError` where something else than a checkpoint is in the way.
    """
    folder = folder.resolve()
    if folder.exists() and not _is_replaceable(folder):
        raise CheckpointError(f"{folder}: exists and is not a checkpoint; not overwritten")
    partial = folder.with_name(f".{folder.name}.partial")
    replaced = folder.with_name(f".{folder.name}.replaced")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _write_text(partial / CONFIG_FILE, config.model_dump_json(indent=2))
        save_file(dict(weights), partial / WEIGHTS_FILE, metadata={"format": "pt"})
        # safetensors makes it the owner's alone; a server may well run as somebody else.
        (partial / WEIGHTS_FILE).chmod((partial / CONFIG_FILE).stat().st_mode)
        for name, content in tokenizer.files.items():
            (partial / name).write_bytes(content)
        _write_text(partial / CARD_FILE, card)
        _write_text(partial / TRAINING_FILE, json.dumps(training, indent=2, ensure_ascii=False))
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
    if folder.exists():
        folder.rename(replaced)
    partial.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def record_alignment(folder: Path, method: AlignmentMethod) -> None:
    """Write into a checkpoint's configuration how it aligns; its digest changes with that.

    Raises `CheckpointError` for a folder that is not a checkpoint or a method that it has not.
    """
    values = read_config(folder).model_dump() | {"alignment": method}
    try:
        config = CheckpointConfig.model_validate(values)
    except ValidationError as error:
        raise CheckpointError(f"{folder}: {describe_validation(error)}") from None
    partial = folder / f".{CONFIG_FILE}.partial"
    _write_text(partial, config.model_dump_json(indent=2))
    partial.replace(folder / CONFIG_FILE)


def check_new_folder(folder: Path) -> None:
    """Raise `CheckpointError` unless there is nothing yet, or an empty folder."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CheckpointError(f"{folder}: exists and is not an empty folder; not overwritten")


def _is_replaceable(folder: Path) -> bool:
    return folder.is_dir() and ((folder / CONFIG_FILE).is_file() or not any(folder.iterdir()))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def read_file(path: Path) -> bytes:
    """A file's content. Raises `CheckpointError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None


def read_tokenizer(folder: Path, config: CheckpointConfig) -> TextCodec:
    """The vocabulary, checked against the configuration. Raises `CheckpointError`."""
    marian = config.marian_vocabulary
    path = folder if marian else folder / TOKENIZER_FILE
    tokenizer: TextCodec
    try:
        if marian:
            tokenizer = MarianTokenizer.load(
                folder, marian.target_symbols, separate=marian.separate
            )
        else:
            tokenizer = Tokenizer(read_file(path), str(path))
    except TokenizerError as error:
        raise CheckpointError(str(error)) from None
    shape = config.transformer
    for name, ours, theirs in (
        ("vocabulary size", tokenizer.source_vocab_size, shape.source_vocab_size),
        ("vocabulary size", tokenizer.target_vocab_size, shape.target_vocab_size),
        ("pad_id", tokenizer.pad_id, shape.pad_id),
        ("eos_id", tokenizer.eos_id, shape.eos_id),
    ):
        if ours != theirs:
            raise CheckpointError(f"{path}: {name} {ours}, but {CONFIG_FILE} says {theirs}")
    for _, target in config.directions:
        if not tokenizer.can_translate_to(target):
            raise CheckpointError(
                f"{path}: no symbol for '{target}', but {CONFIG_FILE} translates to it"
            )
    return tokenizer


def check_weights(path: Path, model: Transformer, weights: Mapping[str, Tensor]) -> None:
    """Raise `CheckpointError` unless `weights`, read from `path`, are the model's parameters."""
    wanted = dict(model.named_parameters())
    for name, parameter in wanted.items():
        if name not in weights:
            raise CheckpointError(f"{path}: tensor '{name}' is missing")
        found = weights[name]
        if found.shape != parameter.shape:
            raise CheckpointError(
                f"{path}: tensor '{name}' has shape {list(found.shape)}, "
                f"{CONFIG_FILE} asks for {list(parameter.shape)}"
            )
        if not found.is_floating_point():
            raise CheckpointError(f"{path}: tensor '{name}' has type {found.dtype}, not floating")
        if not all(bound.isfinite() for bound in found.aminmax()):  # NaN is passed on to both
            raise CheckpointError(f"{path}: tensor '{name}' holds NaN or infinity")
    if unknown := sorted(weights.keys() - wanted.keys()):
        raise CheckpointError(f"{path}: unknown tensor {unknown[0]!r}")


def _digest(folder: Path, tokenizer: TextCodec) -> str:
    digest = hashlib.sha256()
    for name in (CONFIG_FILE, WEIGHTS_FILE, *tokenizer.files):
        with (folder / name).open("rb") as file:
            hashlib.file_digest(file, lambda: digest)  # goes on with it, in small pieces
    return digest.hexdigest()
