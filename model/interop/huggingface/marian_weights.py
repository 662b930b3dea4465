"""The tensors of Marian, M2M-100 and NLLB in Hugging Face format, by attend's names.

Matrices have the same layout, [out, in], so only names change.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoint.tensor_file import LazyTensors
from model.errors import CheckpointError
from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig
from model.transformer.positions import sinusoidal_positions

_MAX_NAMES = 3
_FLOAT16_TOLERANCE = 1e-3
"""Above the rounding error of float16 for −1 … 1."""

_LINEAR = ("q_proj", "k_proj", "v_proj", "out_proj")  # Q, K, V, O
_ATTENTION = ("self_attn", "encoder_attn")
_FEED_FORWARD = dict(zip(names.FEED_FORWARD, ("fc1", "fc2", "final_layer_norm"), strict=True))


def _in_layer(stack: str) -> dict[str, str]:
    """Our → their names within a layer."""
    table: dict[str, str] = {}
    for ours, theirs in zip(names.attentions(stack), _ATTENTION, strict=False):
        their_linear = (f"{theirs}.{linear}" for linear in _LINEAR)
        table |= dict(zip(ours, (*their_linear, f"{theirs}_layer_norm"), strict=True))
    return table | _FEED_FORWARD


# Their names outside the layers. `SHARED` replaces the three after it if they are missing.
SHARED = "model.shared.weight"
SOURCE = "model.encoder.embed_tokens.weight"
TARGET = "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
OUTPUT_BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")

# Tables that M2M-100 used to be saved with, and is computed without.
_UNREAD = ("model.encoder.embed_positions.weights", "model.decoder.embed_positions.weights")

OUTSIDE_LAYERS = {SHARED, SOURCE, TARGET, OUTPUT, OUTPUT_BIAS, *POSITIONS, *_UNREAD}


def layer_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every tensor within the layers."""
    n_layers = config.n_encoder_layers, config.n_decoder_layers
    for stack, n in zip(names.STACKS, n_layers, strict=True):
        for layer in range(n):
            for ours, theirs in _in_layer(stack).items():
                for kind in ("weight", "bias"):
                    ours_in_full = names.in_layer(stack, layer, ours)
                    yield f"{ours_in_full}.{kind}", f"model.{stack}.layers.{layer}.{theirs}.{kind}"


def final_norm_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of the norms after pre-norm stacks, as in Pegasus."""
    if config.norm_order == "pre":
        for stack in names.STACKS:
            for kind in ("weight", "bias"):
                yield f"{names.final_norm(stack)}.{kind}", f"model.{stack}.layer_norm.{kind}"


@dataclass(frozen=True)
class Embeddings:
    """The embedding and output matrices; the tensors determine which are shared.

    source, target and output are [V, D], bias [V] or None.
    """

    source: Tensor
    target: Tensor
    output: Tensor
    bias: Tensor | None

    @property
    def shared(self) -> bool:
        return _same(self.source, self.target)

    @property
    def tied(self) -> bool:
        return _same(self.output, self.target)


def embeddings(path: Path, tensors: Mapping[str, Tensor], *, tie: bool, share: bool) -> Embeddings:
    """Return the matrices that `transformers` would use, given what config.json declares as shared.

    Raises `CheckpointError` if one is missing, or if two that are declared as shared differ, since
    `transformers` could use either.
    """
    loaded: dict[str, Tensor] = {}

    def first(*names: str) -> Tensor:
        for name in names:
            if name in tensors:
                return loaded.setdefault(name, tensors[name])
        raise CheckpointError(f"{path}: tensor '{names[0]}' is missing")

    source = first(SOURCE, SHARED)
    target = first(TARGET, SHARED)
    output = first(OUTPUT, TARGET, SHARED)
    bias = tensors.get(OUTPUT_BIAS)
    found = Embeddings(source, target, output, _used(bias))
    if tie and not found.tied:
        raise CheckpointError(
            f"{path}: the output is declared as tied to the embedding, but differs"
        )
    if tie and share and not found.shared:
        raise CheckpointError(f"{path}: the embeddings are declared as shared, but differ")
    return found


def renamed(
    path: Path, tensors: Mapping[str, Tensor], config: TransformerConfig, found: Embeddings
) -> Mapping[str, Tensor]:
    """Rename tensors, shared ones once. Raises `CheckpointError` for missing or unknown ones."""
    names = dict(layer_names(config)) | dict(final_norm_names(config))
    check_names(path, tensors, list(names.values()), OUTSIDE_LAYERS)
    _check_positions(path, tensors, config)
    weights = {"source_embedding.weight": found.source}
    if not config.share_embeddings:
        weights["target_embedding.weight"] = found.target
    if not config.tie_output:
        weights["output.weight"] = found.output
    if found.bias is not None:
        weights["output.bias"] = found.bias
    elif config.output_bias and OUTPUT_BIAS in tensors:  # zeros
        weights["output.bias"] = tensors[OUTPUT_BIAS].flatten()
    return LazyTensors(
        [*weights, *names], lambda name: weights[name] if name in weights else tensors[names[name]]
    )


def check_names(
    path: Path, found: Collection[str], required: Sequence[str], optional: Collection[str]
) -> None:
    """Raise `CheckpointError` for missing or unknown tensors."""
    missing = [name for name in required if name not in found]
    unknown = sorted({*found} - {*required, *optional})
    for reason, odd in (("missing", missing), ("unknown", unknown)):
        if odd:
            more = f" and {len(odd) - _MAX_NAMES} more" if len(odd) > _MAX_NAMES else ""
            listed = ", ".join(map(repr, odd[:_MAX_NAMES]))
            raise CheckpointError(f"{path}: {reason} tensors {listed}{more}")


def _check_positions(path: Path, tensors: Mapping[str, Tensor], config: TransformerConfig) -> None:
    """Check that stored positions equal the sinusoids, which are computed here."""
    for name in POSITIONS:
        if name not in tensors:
            continue
        table = tensors[name].float()
        n_positions = table.shape[0] if table.dim() else 0
        expected = torch.from_numpy(sinusoidal_positions(n_positions, config.d_model, "halves"))
        if table.shape != expected.shape or not torch.allclose(
            table, expected, rtol=0, atol=_FLOAT16_TOLERANCE
        ):
            raise CheckpointError(f"{path}: '{name}' does not contain sinusoids, sines first")


def _used(bias: Tensor | None) -> Tensor | None:
    """Return the bias [1, V] as [V], or None if all its values are zero."""
    return bias.flatten() if bias is not None and bias.any() else None


def _same(a: Tensor, b: Tensor) -> bool:
    return a is b or (a.shape == b.shape and torch.equal(a, b))
