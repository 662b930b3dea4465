"""config.json: what a checkpoint folder holds and what it can translate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from model.alignment.from_attention import AlignmentMethod
from model.decoding.hypothesis import MAX_LENGTH_PENALTY, HuggingFaceRule
from model.errors import CheckpointError
from model.transformer.config import TransformerConfig, describe_validation

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


def read_file(path: Path) -> bytes:
    """A file's content. Raises `CheckpointError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
