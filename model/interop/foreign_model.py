"""The result of reading another project's model: a checkpoint without a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.directions import AnyPair, Direction
from model.decoding.rules import Rule
from model.text.marian_tokenizer import MarianTokenizer
from model.text.multilingual_tokenizer import MultilingualTokenizer
from model.transformer.config import TransformerConfig


@dataclass(frozen=True)
class ForeignModel:
    """A validated model in attend's terms.

    project, origin  its project and the format it was read from, for its card
    alignment        how words are linked, if the model was trained for it
    weights          a `Transformer`'s parameters by name, shared ones once
    """

    project: str
    origin: str
    directions: list[Direction] | AnyPair
    beam_size: int
    length_penalty: float
    rule: Rule
    shape: TransformerConfig
    weights: Mapping[str, Tensor]
    tokenizer: MarianTokenizer | MultilingualTokenizer
    alignment: AlignmentMethod | None = None
