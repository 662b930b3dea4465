"""A model of base size that computes the same function as a smaller trained one.

python -m benchmarks.widened

Random weights do not give natural lengths, and training a base-size model takes days on a CPU. A
pre-norm layer of twice the width with zeros in its second half computes the same function at the
cost of the large one, as do additional decoder layers that add nothing and additional pieces that
are never the best. The encoder has fewer layers instead: those that add least to the states are
left out, which costs the shipped checkpoint 0.02 nats per token.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import click
import numpy as np
import torch
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from benchmarks.checkpoints import DEFAULT_WORK
from benchmarks.options import benchmark, checkpoint_option
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.text.tokenizer import Tokenizer
from model.transformer.config import PRESETS, TransformerConfig, vocabulary_fields
from model.transformer.transformer import Transformer

UNLIKELY = -8.0
"""Bias of the additional pieces, which copy the logits of others."""

Array = NDArray[np.float32]

_FORM = {
    "norm_order", "position_layout", "scale_embedding", "share_embeddings", "tie_output",
    "output_bias", "decoder_d_ff", "decoder_n_heads", "autoregression",
}  # fmt: skip


def widened(
    origin: Checkpoint, shape: TransformerConfig, vocab_size: int
) -> tuple[TransformerConfig, Tokenizer, dict[str, Tensor]]:
    """Return a model of this width and depth, its vocabulary, and its weights.

    Raises `ValueError` if the origin has another form than attend's own models, or does not fit.
    """
    old, tokenizer = origin.config.transformer, origin.tokenizer
    ours = TransformerConfig(norm_order="pre").model_dump(include=_FORM)
    if old.model_dump(include=_FORM) != ours or not isinstance(tokenizer, Tokenizer):
        raise ValueError(f"{origin.folder}: only models as attend trains them can be widened")
    smaller = old.d_k == shape.d_k and shape.d_model % old.d_model == 0 and old.d_ff <= shape.d_ff
    if not smaller or tokenizer.vocab_size > vocab_size:
        raise ValueError(f"{origin.folder}: does not fit into this shape and {vocab_size} pieces")
    extended = Tokenizer(with_pieces(tokenizer.serialized, vocab_size))
    config = shape.model_copy(
        update={
            **vocabulary_fields(vocab_size, extended.pad_id, extended.eos_id),
            "norm_order": "pre", "activation": old.activation, "dropout": 0.0,
            "output_bias": True,
        }
    )  # fmt: skip
    ratio = shape.d_model // old.d_model
    # A wider sinusoid has the old wavelengths at every ratio-th pair of sine and cosine.
    pairs, parts = np.divmod(np.arange(old.d_model), 2)
    stream = 2 * ratio * pairs + parts
    chosen = main_layers(origin.weights, config.n_encoder_layers)
    model = Transformer(config)
    weights = {}
    for name, parameter in model.named_parameters():
        value = np.zeros(tuple(parameter.shape), np.float32)
        source = _source(name, chosen)
        if name == "output.bias":
            value[tokenizer.vocab_size - 1 : -1] = UNLIKELY
        elif source not in origin.weights:
            value[...] = _unused(name, value.shape)
        elif name.endswith("embedding.weight"):
            rows = origin.weights[source] / math.sqrt(ratio)
            value[:, stream] = rows[_old_pieces(vocab_size, len(rows))]
        else:
            factor = _factor(name, ratio)
            _put(value, name, origin.weights[source] * factor, stream)
        weights[name] = torch.from_numpy(value)
    return config, extended, weights


def with_pieces(serialized: bytes, vocab_size: int) -> bytes:
    """Add pieces that no text has before the last one, `<pad>`."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(serialized)  # type: ignore[attr-defined]
    last = proto.pieces.pop()
    for index in range(vocab_size - 1 - len(proto.pieces)):
        proto.pieces.add(piece=chr(0xF0000 + index), score=-99.0)
    proto.pieces.append(last)
    proto.trainer_spec.vocab_size = vocab_size
    if proto.trainer_spec.pad_id >= 0:
        proto.trainer_spec.pad_id = vocab_size - 1
    content: bytes = proto.SerializeToString()
    return content


def main_layers(weights: Mapping[str, Array], n: int) -> list[int]:
    """Return the n encoder layers with the largest output projections, in order."""
    sizes: dict[int, float] = {}
    for name, value in weights.items():
        if name.startswith("encoder.layers.") and name.endswith(("w_o.weight", "w_2.weight")):
            layer = int(name.split(".")[2])
            sizes[layer] = sizes.get(layer, 0.0) + float(np.square(value).sum())
    return sorted(sorted(sizes, key=sizes.__getitem__)[-n:])


def _source(name: str, chosen: list[int]) -> str:
    """Return the tensor that a tensor copies; none has the name if it copies nothing."""
    stack, _, rest = name.partition(".layers.")
    if stack == "encoder" and rest:
        number, _, tensor = rest.partition(".")
        return f"encoder.layers.{chosen[int(number)]}.{tensor}"
    return name


def _old_pieces(vocab_size: int, n_old: int) -> NDArray[np.int64]:
    """Return the piece whose row each piece has: itself or another, for the last one `<pad>`."""
    rows = np.arange(vocab_size) % (n_old - 1)
    rows[-1] = n_old - 1
    return rows


def _factor(name: str, ratio: int) -> float:
    """Half of a wider row is zero, so its deviation is smaller: gains make up for it.

    Not that of the last norm, since the output projection is the embedding, which is as much
    smaller as √d_model is larger.
    """
    if name.startswith("decoder.norm."):
        return 1.0 if name.endswith("weight") else math.sqrt(ratio)
    return 1 / math.sqrt(ratio) if "norm.weight" in name else 1.0


def _put(value: Array, name: str, part: Array, stream: NDArray[np.int64]) -> None:
    """Copy into the dimensions of the residual stream, and the first ones inside a sub-layer."""
    first = slice(0, len(part))
    if "norm." in name:
        value[stream] = part
    elif name.endswith(("w_o.bias", "w_2.bias")):
        value[stream] = part - part.mean()
    elif name.endswith(("w_o.weight", "w_2.weight")):  # means, which a norm drops, stay zero
        value[stream, : part.shape[1]] = part - part.mean(axis=0)
    elif name.endswith("bias"):
        value[first] = part
    else:
        value[first, stream] = part
        value[len(part) :] = _unused(name, value[len(part) :].shape)


def _unused(name: str, shape: tuple[int, ...]) -> Array:
    """Weights whose products reach nothing; those of output projections are zero."""
    if name.endswith("norm.weight"):
        return np.ones(shape, np.float32)
    if name.endswith(("bias", "w_o.weight", "w_2.weight")):
        return np.zeros(shape, np.float32)
    random = np.random.default_rng(len(name))
    return random.normal(0, 0.02, shape).astype(np.float32)


def write_widened(origin: Checkpoint, folder: Path, preset: str, vocab_size: int) -> None:
    """Write the checkpoint. Raises `ValueError`; see `widened`."""
    config, tokenizer, weights = widened(origin, PRESETS[preset], vocab_size)
    update = {"name": folder.name, "transformer": config, "alignment": None}
    card = f"# {folder.name}\n\nWhat {origin.config.name} computes, in a larger model."
    written = origin.config.model_copy(update=update)
    training = {"origin": origin.digest, "preset": preset}
    save_checkpoint(folder, written, weights, tokenizer, card, training)


@benchmark
@checkpoint_option
@click.option("--preset", type=click.Choice(list(PRESETS)), default="base")
@click.option("--vocabulary", type=click.IntRange(1), default=32_000, help="Number of pieces.")
@click.option("--work", type=click.Path(path_type=Path), default=DEFAULT_WORK)
def main(*, checkpoint: Path, preset: str, vocabulary: int, work: Path) -> None:
    """Widen a trained checkpoint to a preset's size."""
    work.mkdir(parents=True, exist_ok=True)
    folder = work / f"widened-{preset}-{vocabulary}"
    write_widened(load_checkpoint(checkpoint), folder, preset, vocabulary)
    click.echo(f"wrote {folder}")


if __name__ == "__main__":
    main()
