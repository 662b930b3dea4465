"""How long a translation may become (§6.1)."""

from __future__ import annotations

from torch import Tensor

from model.config import TransformerConfig
from model.decoding.hypothesis import SearchOptions


def token_limits(source_ids: Tensor, config: TransformerConfig, options: SearchOptions) -> Tensor:
    """[B, S] right-padded ids → [B], the most target tokens each sentence may get."""
    cap = options.max_target_tokens
    if cap is None and options.rule:
        cap = options.rule.max_target_tokens
    if cap is None:
        limits = (source_ids != config.pad_id).sum(dim=1) + 50
    else:
        limits = source_ids.new_full((len(source_ids),), cap)
    return limits.clamp(max=config.max_length)
