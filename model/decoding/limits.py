"""The maximum length of a translation (§6.1)."""

from __future__ import annotations

from torch import Tensor

from model.decoding.hypothesis import SearchOptions
from model.transformer.config import TransformerConfig


def token_limits(source_ids: Tensor, config: TransformerConfig, options: SearchOptions) -> Tensor:
    """[B, S] right-padded ids → [B], the maximum target tokens of each sentence."""
    lengths = (source_ids != config.pad_id).sum(dim=1).tolist()
    return source_ids.new_tensor(
        [options.token_limit(length, config.max_length) for length in lengths]
    )
