"""The result of reading another project's model: a checkpoint without a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from model.decoding.rules import Rule
from model.text.marian_tokenizer import MarianTokenizer
from model.transformer.config import TransformerConfig


@dataclass(frozen=True)
class ForeignModel:
    """A validated Marian model in attend's terms.

    origin   the format it was read from, for its card
    weights  a `Transformer`'s parameters by name, shared ones once
    """

    origin: str
    directions: list[tuple[str, str]]
    beam_size: int
    length_penalty: float
    rule: Rule
    shape: TransformerConfig
    weights: Mapping[str, Tensor]
    tokenizer: MarianTokenizer
