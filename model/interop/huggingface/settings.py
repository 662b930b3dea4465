"""Reads and checks the settings of a Marian or M2M-100 folder in Hugging Face format.

`config.json` has the architecture, `generation_config.json` the search; if the latter is missing,
`transformers` takes the search from the former.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from model.decoding.rules import HuggingFaceRule
from model.errors import CheckpointError
from model.interop.huggingface.config_files import (
    CONFIG_FILE,
    GENERATION_FILE,
    GenerationConfig,
    M2M100Config,
    MarianConfig,
    read_object,
)
from model.interop.huggingface.supported_options import ACTIVATIONS, unsupported
from model.transformer.config import Activation, describe_validation

_DEFAULT_MAX_LENGTH = 20
"""Default of `transformers`, including the start token, if no file gives one."""


@dataclass(frozen=True)
class Settings:
    """The validated content of both files."""

    config: MarianConfig
    activation: Activation
    beam_size: int
    length_penalty: float
    rule: HuggingFaceRule


def read_settings(folder: Path, form: type[MarianConfig] = MarianConfig) -> Settings:
    """Read and check both files. Raises `CheckpointError` listing all unsupported options."""
    path = folder / CONFIG_FILE
    values = read_object(path)
    check_model_type(path, values, form)
    config = _validate(form, values, path)
    if (folder / GENERATION_FILE).exists():
        path = folder / GENERATION_FILE
        generation = _validate(GenerationConfig, read_object(path), path)
    else:
        generation = _validate(GenerationConfig, values, path)
    faults = list(unsupported(config, generation, path.name))
    if faults:
        raise CheckpointError(f"{folder}: attend cannot run this model: {'; '.join(faults)}")
    limit = generation.max_new_tokens or (generation.max_length or _DEFAULT_MAX_LENGTH) - 1
    length_penalty = generation.length_penalty
    return Settings(
        config=config,
        activation=ACTIVATIONS[config.activation_function],
        beam_size=generation.num_beams or 1,
        length_penalty=1.0 if length_penalty is None else length_penalty,
        rule=HuggingFaceRule(
            early_stopping=generation.early_stopping or False,
            force_end=generation.forced_eos_token_id is not None,
            renormalise=bool(generation.renormalize_logits),
            max_target_tokens=limit,
        ),
    )


_MODEL_TYPES: dict[type[MarianConfig], str] = {MarianConfig: "marian", M2M100Config: "m2m_100"}
VERBS = {"marian": "marian", "m2m_100": "m2m100"}
"""`model_type` → the verb of `attend import`."""


def check_model_type(path: Path, values: Mapping[str, Any], form: type[MarianConfig]) -> None:
    """Raise `CheckpointError` unless config.json, read from `path`, is of the form's type."""
    found, expected = values.get("model_type"), _MODEL_TYPES[form]
    if found == expected:
        return
    if found in VERBS:
        raise CheckpointError(f"{path}: model_type {found!r}; use `attend import {VERBS[found]}`")
    known = " and ".join(map(repr, VERBS))
    raise CheckpointError(f"{path}: model_type {found!r}, attend imports only {known}")


_Model = TypeVar("_Model", bound=BaseModel)


def _validate(model: type[_Model], values: dict[str, Any], path: Path) -> _Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {describe_validation(error)}") from None
