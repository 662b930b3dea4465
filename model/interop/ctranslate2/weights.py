"""The tensors of a model.bin by attend's names.

Matrices are [out, in] on both sides. CTranslate2 stores projections of the same input as one
matrix: queries, keys and values, or keys and values of the encoder's output.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.checkpoint.parameters import parameter_shapes
from model.checkpoint.tensor_file import LazyTensors
from model.errors import CheckpointError
from model.interop.ctranslate2.binary_format import Variables
from model.interop.ctranslate2.network import PROJECTION, embedding_name
from model.interop.npz.network import PAD_LOGIT, with_pad
from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig

_OTHERS = {
    "activation", "alibi", "alibi_use_positive_positions", "alignment_heads", "alignment_layer",
    "embeddings_merge", "encodings", "multi_query_attention", "multiply_by_sqrt_depth", "num_heads",
    "num_heads_kv", "pre_norm", "scale_alibi", "scale_embeddings", "start_from_zero_embedding",
    "bos_token", "eos_token", "unk_token", "user_decoder_start_tokens", "with_source_bos",
    "with_source_eos", "with_target_bos",
}  # fmt: skip
"""Last parts of the names of options that are checked by name, or do not change a translation."""


@dataclass(frozen=True)
class _Rows:
    """One of `n` equal parts of the rows of a variable."""

    name: str
    part: int = 0
    n: int = 1


def read_weights(
    variables: Variables, shape: TransformerConfig, *, pad_is_added: bool
) -> LazyTensors[Tensor]:
    """Return a `Transformer`'s parameters by name; a linear map without a bias gets zeros.

    Raises `CheckpointError` for missing or unknown variables, and on access.
    """
    where = dict(_parameters(variables, shape))
    sizes = parameter_shapes(shape)
    required = {rows.name for name, rows in where.items() if not name.endswith(_OPTIONAL)}
    if missing := sorted(required - variables.keys()):
        raise CheckpointError(
            f"{variables.origin}: missing variables {', '.join(map(repr, missing[:3]))}"
        )
    embeddings = (embedding_name(variables, side) for side in names.STACKS)
    known = {rows.name for rows in where.values()} | {PROJECTION, *embeddings}
    if unknown := [
        name
        for name in sorted(variables)
        if name.removesuffix("_scale") not in known and name.rpartition("/")[2] not in _OTHERS
    ]:
        listed = ", ".join(map(repr, unknown[:3]))
        raise CheckpointError(f"{variables.origin}: unknown variables {listed}")

    def read(name: str) -> Tensor:
        rows = where[name]
        has_pad = pad_is_added and name.startswith(_VOCABULARIES)
        if rows.name in variables:
            values = variables[rows.name]
            if values.ndim == 0 or len(values) % rows.n:
                raise CheckpointError(
                    f"{variables.origin}: '{rows.name}' has shape {list(values.shape)}, not the "
                    f"rows of {rows.n} maps"
                )
            values = np.split(values, rows.n)[rows.part]
        else:  # a linear map without a bias
            values = np.zeros(sizes[name][0] - has_pad, np.float32)
        found = torch.from_numpy(np.ascontiguousarray(values))
        if not has_pad:
            return found
        return with_pad(found, shape.pad_id, PAD_LOGIT if name.endswith("bias") else 0)

    return LazyTensors(where, read)


_OPTIONAL = (
    "output.bias",
    *(f".{linear}.bias" for linear in ("w_q", "w_k", "w_v", "w_o", "w_1", "w_2")),
)
_VOCABULARIES = (names.SOURCE_EMBEDDING, names.TARGET_EMBEDDING, f"{names.OUTPUT}.")


def _parameters(variables: Variables, shape: TransformerConfig) -> Iterator[tuple[str, _Rows]]:
    """Yield our name of every parameter, and the rows of theirs."""
    yield f"{names.SOURCE_EMBEDDING}.weight", _Rows(embedding_name(variables, names.ENCODER))
    if not shape.share_embeddings:
        yield f"{names.TARGET_EMBEDDING}.weight", _Rows(embedding_name(variables, names.DECODER))
    if not shape.tie_output:
        yield f"{names.OUTPUT}.weight", _Rows(PROJECTION)
    if shape.output_bias:
        yield f"{names.OUTPUT}.bias", _Rows("decoder/projection/bias")
    for stack, n in zip(
        names.STACKS, (shape.n_encoder_layers, shape.n_decoder_layers), strict=True
    ):
        for layer in range(n):
            for ours, rows in _layer(stack):
                theirs = f"{stack}/layer_{layer}/{rows.name}"
                yield names.in_layer(stack, layer, ours), _Rows(theirs, rows.part, rows.n)
        if shape.norm_order == "pre":
            for ours, theirs in (("weight", "gamma"), ("bias", "beta")):
                yield f"{names.final_norm(stack)}.{ours}", _Rows(f"{stack}/layer_norm/{theirs}")


def _layer(stack: str) -> Iterator[tuple[str, _Rows]]:
    fused = {True: ((0, 0, 3), (0, 1, 3), (0, 2, 3), (1, 0, 1)),
             False: ((0, 0, 1), (1, 0, 2), (1, 1, 2), (2, 0, 1))}  # fmt: skip
    for attention in names.attentions(stack):
        is_self = attention is not names.CROSS_ATTENTION
        scope = "self_attention" if is_self else "attention"
        for ours, (number, part, n) in zip(attention.linear, fused[is_self], strict=True):
            for kind in ("weight", "bias"):
                yield f"{ours}.{kind}", _Rows(f"{scope}/linear_{number}/{kind}", part, n)
        yield from _norm(attention.norm, scope)
    for ours, number in ((names.FEED_FORWARD.w_1, 0), (names.FEED_FORWARD.w_2, 1)):
        for kind in ("weight", "bias"):
            yield f"{ours}.{kind}", _Rows(f"ffn/linear_{number}/{kind}")
    yield from _norm(names.FEED_FORWARD.norm, "ffn")


def _norm(ours: str, scope: str) -> Iterator[tuple[str, _Rows]]:
    yield f"{ours}.weight", _Rows(f"{scope}/layer_norm/gamma")
    yield f"{ours}.bias", _Rows(f"{scope}/layer_norm/beta")
