"""The shape of a model.bin's Transformer, and the options that attend lacks."""

import math
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from model.errors import CheckpointError
from model.interop.ctranslate2.binary_format import Variables
from model.transformer import parameter_names as names
from model.transformer.config import Activation, PositionLayout, TransformerConfig
from model.transformer.positions import sinusoidal_positions

PROJECTION = "decoder/projection/weight"
SPEC = "TransformerSpec"
_REVISIONS = range(3, 8)
_NO_TRANSLATION = {
    "TransformerDecoderSpec": "a language model",
    "TransformerEncoderSpec": "an encoder without a decoder, such as BERT",
    "WhisperSpec": "a speech recogniser",
    "Wav2Vec2Spec": "a speech recogniser",
    "Wav2Vec2BertSpec": "a speech recogniser",
}
_ACTIVATIONS: dict[int, Activation] = {0: "relu", 2: "swish", 3: "gelu", 4: "quick_gelu"}
_UNKNOWN_ACTIVATIONS = {1: "gelu by tanh", 5: "tanh", 6: "sigmoid"}
_MAX_LENGTH = 1024
"""`max_input_length` of CTranslate2's translator."""
_HALF_PRECISION_TOLERANCE = 4e-3
"""Above the rounding error of bfloat16 for −1 … 1."""

_OPTIONS = {
    "relative_position_keys": "relative positions",
    "relative_position_values": "relative positions",
    "relative_asymmetric_position_keys": "relative positions",
    "relative_attention_bias": "a bias by relative position (T5)",
    "rotary_dim": "rotary positions",
    "linear_0_noact/weight": "gated linear units",
    "q_norm/gamma": "normalised queries and keys",
    "layernorm_embedding/gamma": "a norm of the embeddings (BART, mBART)",
    "head_dim": "heads of another width",
    "sliding_window": "a sliding window",
    "project_in/weight": "a projection of the embeddings",
    "embeddings_1/weight": "several source features",
    "input_layer_norm/gamma": "norms before and after each sub-layer",
    "memory_kv/weight": "merged attention to both sides",
    "layer_scalar": "scaled layers",
    "queries_scale": "another scale of queries",
    "scale_outputs": "scaled outputs",
    "final_logit_softcapping": "capped logits",
    "weight_zero": "quantisation by AWQ",
}
"""Ends of the names of variables of options that attend lacks."""

_GLOBAL = ("num_heads", "pre_norm", "activation")
"""Options of both sides at once, before revision 5."""


def network_shape(
    variables: Variables,
    *,
    sizes: tuple[int, int],
    epsilon: float | None,
    pad_id: int | None,
    ids: dict[str, int],
) -> TransformerConfig:
    """Return the configuration of a model.

    sizes    tokens of source and target, with a `<pad>` that is inserted
    epsilon  of LayerNorm, by config.json
    pad_id   the id at which a `<pad>` is inserted on both sides; None: the vocabulary has one
    ids      `eos_id`; `start_id` unless the decoder starts with zeros; `pad_id` of the vocabulary

    Raises `CheckpointError` with all options that attend lacks, and `ConfigError`.
    """
    _check_specification(variables)
    encoder, decoder = "encoder", "decoder"
    source, target = embedding_name(variables, encoder), embedding_name(variables, decoder)
    faults = [*_unsupported(variables)]
    for option in ("pre_norm", "activation", "scale_embeddings"):
        both = [_option(variables, side, option, 1.0) for side in names.STACKS]
        if both[0] != both[1]:
            faults.append(f"{option} = {both[0]:g} in the encoder, {both[1]:g} in the decoder")
    activation = int(_option(variables, encoder, "activation", 0))
    if activation not in _ACTIVATIONS:
        faults.append(f"activation {_UNKNOWN_ACTIVATIONS.get(activation, activation)}")
    is_pre_norm = bool(_option(variables, encoder, "pre_norm", 1))
    faults += [
        f"{side}: {'no' if is_pre_norm else 'a'} final norm"
        for side in names.STACKS
        if is_pre_norm != (f"{side}/layer_norm/gamma" in variables)
    ]
    (rows, width), (target_rows, _) = variables.shape(source), variables.shape(target)
    is_scaled = _is_scaled(variables, width, faults)
    layout, offset, length = _positions(variables, width, faults)
    if faults:
        reasons = "; ".join(faults)
        raise CheckpointError(f"{variables.origin}: attend cannot run this model: {reasons}")
    added = pad_id is not None
    for side, size, n_rows in zip(("source", "target"), sizes, (rows, target_rows), strict=True):
        if size - added != n_rows:
            raise CheckpointError(
                f"{variables.origin}: the {side} vocabulary has {size - added} tokens, the model "
                f"{n_rows}"
            )
    values: dict[str, object] = {
        "d_model": width,
        "d_ff": _rows_of(variables, "encoder/layer_0/ffn/linear_0/weight"),
        "decoder_d_ff": _rows_of(variables, "decoder/layer_0/ffn/linear_0/weight"),
        "n_heads": int(_option(variables, encoder, "num_heads", 8)),
        "decoder_n_heads": int(_option(variables, decoder, "num_heads", 8)),
        "n_encoder_layers": _n_layers(variables, encoder),
        "n_decoder_layers": _n_layers(variables, decoder),
        "source_vocab_size": rows + added,
        "target_vocab_size": target_rows + added,
        "max_length": min(length, _MAX_LENGTH),
        "activation": _ACTIVATIONS[activation],
        "norm_order": "pre" if is_pre_norm else "post",
        "norm_epsilon": 1e-5 if epsilon is None else epsilon,
        "position_layout": layout,
        "position_offset": offset,
        "scale_embedding": is_scaled,
        "share_embeddings": variables.same(source, target),
        "tie_output": PROJECTION in variables and variables.same(PROJECTION, target),
        "output_bias": added or "decoder/projection/bias" in variables,
        **ids,
    }
    if added:
        values["pad_id"] = pad_id
        if starts_with_zeros(variables):
            values["start_id"] = pad_id
    return TransformerConfig.parse(values, variables.origin)


def starts_with_zeros(variables: Variables) -> bool:
    """Whether the decoder's first input is a zero embedding, as in Marian."""
    return bool(variables.number("decoder/start_from_zero_embedding", 0))


def _check_specification(variables: Variables) -> None:
    if variables.spec != SPEC:
        kind = _NO_TRANSLATION.get(variables.spec, "not a translation model")
        raise CheckpointError(
            f"{variables.origin}: {variables.spec}, {kind}; attend imports {SPEC}, the models "
            "that translate"
        )
    if variables.revision not in _REVISIONS:
        raise CheckpointError(
            f"{variables.origin}: revision {variables.revision} of {SPEC}; attend reads "
            f"{_REVISIONS[0]} to {_REVISIONS[-1]}"
        )


def _unsupported(variables: Variables) -> Iterator[str]:
    """Yield the options that attend lacks, each once."""
    found: dict[str, str] = {}
    for name in variables:
        for end, called in _OPTIONS.items():
            if name.endswith(f"/{end}"):
                found.setdefault(called, name)
        if name.endswith("/alibi") and variables.number(name):
            found.setdefault("ALiBi", name)
        if name.endswith("/num_heads_kv"):
            heads = _option(variables, name.partition("/")[0], "num_heads", 8)
            if variables.number(name) != heads:
                found.setdefault("multi-query attention", name)
        if name.endswith("/gamma") and f"{name.removesuffix('gamma')}beta" not in variables:
            found.setdefault("RMS norms", name)
    yield from (f"{called} ({name})" for called, name in found.items())


def _option(variables: Variables, side: str, option: str, default: float) -> float:
    name = f"{side}/{option}"
    if name not in variables and option in _GLOBAL:
        name = option
    return variables.number(name, default)


def embedding_name(variables: Variables, side: str) -> str:
    """Return the name of a side's embedding. Raises `CheckpointError`."""
    for name in (f"{side}/embeddings_0/weight", f"{side}/embeddings/weight"):
        if name in variables:
            if len(variables.shape(name)) != 2:
                raise CheckpointError(f"{variables.origin}: '{name}' is not a matrix")
            return name
    raise CheckpointError(f"{variables.origin}: '{side}/embeddings/weight' is missing")


def _is_scaled(variables: Variables, width: int, faults: list[str]) -> bool:
    """Whether embeddings are multiplied by √d_model: by a flag, or by a number that is it."""
    name = "encoder/scale_embeddings"
    if name not in variables:
        return bool(variables.number("encoder/embeddings/multiply_by_sqrt_depth", 1))
    scale = variables.number(name)
    if scale in (0.0, 1.0):  # a flag, or no scale as a number
        return bool(scale) and variables.stored[name][0] == "i1"
    if not math.isclose(scale, math.sqrt(width), rel_tol=1e-3):
        faults.append(f"scale_embeddings = {scale:g}, neither 1 nor √d_model")
    return True


def _positions(
    variables: Variables, width: int, faults: list[str]
) -> tuple[PositionLayout, int, int]:
    """Return the layout, the first position and the number of positions, of both sides."""
    found = {side: f"{side}/position_encodings/encodings" for side in names.STACKS}
    tables = [variables[name] for name in found.values() if name in variables]
    if not tables:
        return "marian", 1, _MAX_LENGTH  # as CTranslate2 computes them
    shortest = min(tables, key=len)
    if len(tables) == 1 or shortest.shape[1:] != (width,):
        faults.append("positions of one side alone, or of another width")
    elif np.abs(tables[0][: len(shortest)] - tables[1][: len(shortest)]).max() == 0:
        layouts: tuple[PositionLayout, ...] = ("interleaved", "halves", "marian")
        for layout in layouts:
            for offset in range(4):
                if _is_table(shortest, layout, offset):
                    return layout, offset, len(shortest)
        faults.append("learnt positions (position_encodings/encodings are not sinusoids)")
    else:
        faults.append("positions that differ in encoder and decoder")
    return "halves", 0, len(shortest)


def _is_table(table: NDArray[np.float32], layout: PositionLayout, offset: int) -> bool:
    expected = sinusoidal_positions(len(table), table.shape[1], layout, offset)
    return bool(np.allclose(table, expected, rtol=0, atol=_HALF_PRECISION_TOLERANCE))


def _n_layers(variables: Variables, side: str) -> int:
    pattern = re.compile(rf"{side}/layer_(\d+)/")
    found = {int(match[1]) for name in variables if (match := pattern.match(name))}
    if found != set(range(len(found))) or not found:
        raise CheckpointError(f"{variables.origin}: the {side}'s layers are not 0, 1, …")
    return len(found)


def _rows_of(variables: Variables, name: str) -> int:
    if name not in variables or len(variables.shape(name)) != 2:
        raise CheckpointError(f"{variables.origin}: '{name}' is missing, or is not a matrix")
    return variables.shape(name)[0]
