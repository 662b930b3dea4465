"""Another project's model as read: a checkpoint without a name, and the check of its tensors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.config import AnyPair, Direction
from model.checkpoint.reader import check_weights
from model.checkpoint.tensor_file import LazyTensors, is_scale, scale_name
from model.decoding.processors import NO_PROCESSORS, LogitsProcessors
from model.decoding.rules import Rule
from model.errors import CheckpointError
from model.text.marian_tokenizer import MarianTokenizer
from model.text.multilingual_tokenizer import MultilingualTokenizer
from model.transformer.config import TransformerConfig


@dataclass(frozen=True)
class ForeignModel:
    """A validated model in attend's terms.

    project, origin  its project and the format it was read from, for its card
    alignment        how words are linked, if the model was trained for it
    shortlist        the content of shortlist.bin, if it has one
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
    shortlist: bytes | None = None
    processors: LogitsProcessors = NO_PROCESSORS


def check_tensors(path: Path, shape: TransformerConfig, tensors: Mapping[str, Tensor]) -> None:
    """Raise `CheckpointError` unless `tensors`, read from `path`, match the configuration."""

    def read(name: str) -> NDArray[np.float32]:
        tensor = tensors[name]
        if tensor.dtype == torch.int8:
            tensor = tensor.float() * tensors[scale_name(name)]
        if not tensor.is_floating_point():
            raise CheckpointError(
                f"{path}: tensor '{name}' has type {tensor.dtype}, not floating-point"
            )
        array: NDArray[np.float32] = tensor.float().numpy()
        return array

    names = (name for name in tensors if not is_scale(name))
    check_weights(path, shape, LazyTensors(names, read))
