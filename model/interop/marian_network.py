"""What Marian's formats have in common: the network of its options, and the missing `<pad>`."""

from __future__ import annotations

import torch
from torch import Tensor

from model.interop.npz.options import ModelOptions
from model.text.marian_tokenizer import MarianTokenizer
from model.transformer.config import TransformerConfig

PAD_LOGIT = -10_000.0
"""Zero probability in any precision, which leaves the other tokens unchanged."""

_EPSILON = 1e-6
"""ε of Marian's LayerNorm."""


def network_shape(
    origin: str, options: ModelOptions, tokenizer: MarianTokenizer, *, max_length: int, share: bool
) -> TransformerConfig:
    """Return the configuration of a model; `share` if both sides have one embedding.

    Raises `ConfigError` that names `origin`.
    """
    values = {
        "d_model": options.d_model,
        "d_ff": options.d_ff,
        "n_heads": options.n_heads,
        "decoder_d_ff": options.decoder_d_ff,
        "decoder_n_heads": options.n_heads,
        "n_encoder_layers": options.n_encoder_layers,
        "n_decoder_layers": options.n_decoder_layers,
        "source_vocab_size": tokenizer.source_vocab_size,
        "target_vocab_size": tokenizer.target_vocab_size,
        "max_length": max_length,
        "autoregression": options.autoregression,
        "activation": options.activation,
        "norm_order": options.norm_order,
        "norm_epsilon": _EPSILON,
        "position_layout": "marian",
        "share_embeddings": share,
        "tie_output": options.tie_output,
        "output_bias": True,
        "pad_id": tokenizer.pad_id,
        "eos_id": tokenizer.eos_id,
        "start_id": tokenizer.pad_id,  # a zero embedding, as the first input of Marian's decoder
    }
    return TransformerConfig.parse(values, origin)


def with_pad(rows: Tensor, pad_id: int, value: float) -> Tensor:
    """[V, …] → [V + 1, …], with a row of `value` at `pad_id`."""
    pad = rows.new_full((1, *rows.shape[1:]), value)
    return torch.cat((rows[:pad_id], pad, rows[pad_id:]))
