"""Reads and checks the settings of a Marian or M2M-100 folder in Hugging Face format.

`config.json` has the architecture, `generation_config.json` the search; if the latter is missing,
`transformers` takes the search from the former.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from model.checkpoint.config import FORMAT
from model.decoding.hypothesis import MAX_LENGTH_PENALTY
from model.decoding.processors import LogitsProcessors
from model.decoding.rules import HuggingFaceRule
from model.errors import CheckpointError
from model.interop.huggingface.config_files import (
    CONFIG_FILE,
    GENERATION_FILE,
    ForeignFile,
    GenerationConfig,
    M2M100Config,
    MarianConfig,
    read_object,
)
from model.transformer.config import Activation, describe_validation

ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu", "gelu": "gelu", "quick_gelu": "quick_gelu", "swish": "swish", "silu": "swish",
}  # fmt: skip

MAX_BEAM_SIZE = 8


def unsupported(
    config: MarianConfig, generation: GenerationConfig, generation_file: str
) -> Iterator[str]:
    """Yield each option with a value that attend cannot run, and combinations of options."""
    yield from _unsupported(CONFIG_FILE, config, _ARCHITECTURE[type(config)])
    yield from _unsupported(generation_file, generation, _GENERATION[type(config)])
    yield from _contradictions(config, generation)


Supported = Callable[[Any], bool]


def _nothing(value: Any) -> bool:
    return value is None or value is False or value in ([], {})


def _is(*supported: Any) -> Supported:
    return lambda value: value is None or value in supported


def _between(low: float, high: float) -> Supported:
    return lambda value: value is None or low <= value <= high


# Option → whether attend supports a value. Not listed are options that do not change the result
# (dropout and layerdrop in training, caching, output selection), and those used only in sampling,
# which `do_sample` excludes.
_COMMON_ARCHITECTURE: dict[str, Supported] = {
    "activation_function": _is(*ACTIVATIONS),
    "is_encoder_decoder": _is(True),
    "is_decoder": _nothing,
    "add_cross_attention": _nothing,
    "quantization_config": _nothing,
    "pruned_heads": _nothing,
    "d_model": lambda value: value > 0 and value % 2 == 0,
    "encoder_layers": lambda value: value > 0,
    "decoder_layers": lambda value: value > 0,
}
_ARCHITECTURE: dict[type[MarianConfig], dict[str, Supported]] = {
    M2M100Config: _COMMON_ARCHITECTURE,
    MarianConfig: _COMMON_ARCHITECTURE
    | {
        "normalize_before": _nothing,
        "normalize_embedding": _nothing,
        "add_final_layer_norm": _nothing,
        "static_position_embeddings": _is(True),
        "do_blenderbot_90_layernorm": _nothing,
    },
}
_COMMON_GENERATION: dict[str, Supported] = {
    "num_beams": _between(1, MAX_BEAM_SIZE),
    "length_penalty": _between(0, MAX_LENGTH_PENALTY),
    "max_length": _between(2, 1_000_000),
    "max_new_tokens": _between(1, 1_000_000),
    "do_sample": _nothing,
    "num_beam_groups": _is(1),
    "diversity_penalty": _is(0),
    "encoder_repetition_penalty": _is(1),
    "encoder_no_repeat_ngram_size": _is(0),
    "max_time": _nothing,
    "stop_strings": _nothing,
    "penalty_alpha": _nothing,
    "dola_layers": _nothing,
    "prompt_lookup_num_tokens": _nothing,
    "guidance_scale": _is(1),
    "sequence_bias": _nothing,
    "constraints": _nothing,
    "force_words_ids": _nothing,
    "begin_suppress_tokens": _nothing,
    "forced_decoder_ids": _nothing,
    "exponential_decay_length_penalty": _nothing,
    "watermarking_config": _nothing,
}
_GENERATION: dict[type[MarianConfig], dict[str, Supported]] = {
    M2M100Config: _COMMON_GENERATION,  # forced_bos_token_id is the target that a request names
    MarianConfig: _COMMON_GENERATION | {"forced_bos_token_id": _nothing},
}


def _unsupported(file: str, foreign: ForeignFile, table: dict[str, Supported]) -> Iterator[str]:
    values = foreign.model_dump()
    for option, supported in table.items():
        value = values.get(option)
        try:
            fine = supported(value)
        except TypeError:
            fine = False
        if not fine:
            yield f"{file}: {option} = {json.dumps(value)}"


def _contradictions(config: MarianConfig, generation: GenerationConfig) -> Iterator[str]:
    """Yield combinations of options that are not supported, though each option is."""
    for side in ("encoder", "decoder"):
        heads = getattr(config, f"{side}_attention_heads")
        if heads < 1 or config.d_model % heads:
            yield f"{CONFIG_FILE}: {side}_attention_heads = {heads} with d_model = {config.d_model}"
    if config.share_encoder_decoder_embeddings and config.decoder_vocab_size not in (
        None,
        config.vocab_size,
    ):
        yield (
            f"{CONFIG_FILE}: decoder_vocab_size = {config.decoder_vocab_size} "
            f"with shared embeddings of {config.vocab_size}"
        )
    eos = config.eos_token_id
    if isinstance(eos, list) and len(eos) != 1:
        yield f"{CONFIG_FILE}: eos_token_id = {eos}"
        return
    ids = {
        "eos_token_id": (generation.eos_token_id, config.eos_id),
        "forced_eos_token_id": (generation.forced_eos_token_id, config.eos_id),
        "pad_token_id": (generation.pad_token_id, config.pad_token_id),
        "decoder_start_token_id": (
            generation.decoder_start_token_id,
            config.decoder_start_token_id,
        ),
    }
    for option, (found, expected) in ids.items():
        if found is not None and found not in (expected, [expected]):
            yield f"{option} = {json.dumps(found)}, not {expected} as {CONFIG_FILE} implies"
    yield from _contradictions_of_processors(config, generation)
    smallest = min(config.vocab_size, config.target_vocab_size)
    for option in ("pad_token_id", "decoder_start_token_id"):
        if not 0 <= getattr(config, option) < smallest:
            yield f"{CONFIG_FILE}: {option} = {getattr(config, option)}, vocabulary of {smallest}"


def _contradictions_of_processors(
    config: MarianConfig, generation: GenerationConfig
) -> Iterator[str]:
    bad = [token for word in generation.bad_words_ids or [] for token in word]
    for token in {*bad, *(generation.suppress_tokens or [])}:
        if not 0 <= token < config.target_vocab_size:
            yield f"bad_words_ids or suppress_tokens: {token} is outside the vocabulary"
    penalises = generation.repetition_penalty not in (None, 1)
    if penalises and generation.renormalize_logits and (generation.num_beams or 1) > 1:
        yield f"repetition_penalty = {generation.repetition_penalty} with renormalize_logits"
    try:
        _processors(config, generation)
    except ValueError as error:
        yield str(error)


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
    processors: LogitsProcessors


def _processors(config: MarianConfig, generation: GenerationConfig) -> LogitsProcessors:
    """Return what translations must not have. Raises `ValueError`.

    `min_length` counts the start symbol, and both lengths the target language's token.
    """
    at_least = max((generation.min_length or 0) - 1, generation.min_new_tokens or 0)
    words = [
        *(generation.bad_words_ids or []),
        *([one] for one in generation.suppress_tokens or []),
    ]
    dropped = ([config.pad_token_id], [config.eos_id])  # never chosen; ignored by `transformers`
    penalty = generation.repetition_penalty
    return LogitsProcessors(
        min_length=max(0, at_least - isinstance(config, M2M100Config)),
        no_repeat_ngram_size=generation.no_repeat_ngram_size or 0,
        repetition_penalty=1.0 if penalty is None else penalty,
        bad_words_ids=tuple(tuple(word) for word in words if word not in dropped),
    )


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
        processors=_processors(config, generation),
    )


_MODEL_TYPES: dict[type[MarianConfig], str] = {MarianConfig: "marian", M2M100Config: "m2m_100"}
_LANGUAGE_MODEL = "a language model without an encoder"
KINDS = {
    "t5": "T5", "mt5": "mT5", "umt5": "umT5", "mbart": "mBART", "bart": "BART", "fsmt": "FSMT",
    "bert": "an encoder without a decoder", "roberta": "an encoder without a decoder",
    "xlm-roberta": "an encoder without a decoder", "llama": _LANGUAGE_MODEL,
    "mistral": _LANGUAGE_MODEL, "qwen2": _LANGUAGE_MODEL, "qwen3": _LANGUAGE_MODEL,
    "gemma": _LANGUAGE_MODEL, "gemma2": _LANGUAGE_MODEL, "gemma3": _LANGUAGE_MODEL,
    "gpt2": _LANGUAGE_MODEL, "nllb-moe": "a mixture of experts",
}  # fmt: skip
"""`model_type` of others → what they are."""
VERBS = {"marian": "marian", "m2m_100": "m2m100"}
"""`model_type` → the verb of `attend import`."""


def check_model_type(path: Path, values: Mapping[str, Any], form: type[MarianConfig]) -> None:
    """Raise `CheckpointError` unless config.json, read from `path`, is of the form's type."""
    found, expected = values.get("model_type"), _MODEL_TYPES[form]
    if found == expected:
        return
    if verb := VERBS.get(str(found)):
        raise CheckpointError(f"{path}: model_type {found!r}; use `attend import {verb}`")
    if values.get("format") == FORMAT:
        raise CheckpointError(
            f"{path}: a checkpoint of attend, which needs no import: `attend serve --checkpoint "
            f"{path.parent}`"
        )
    known = " and ".join(map(repr, VERBS))
    kind = f" ({KINDS[str(found)]})" if str(found) in KINDS else ""
    called = f"model_type {found!r}{kind}" if found else "no model_type"
    raise CheckpointError(f"{path}: {called}; attend imports only {known}")


_Model = TypeVar("_Model", bound=BaseModel)


def _validate(model: type[_Model], values: dict[str, Any], path: Path) -> _Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {describe_validation(error)}") from None
