"""Reads checkpoint folders: configuration, weights, vocabulary, card and training settings.

Any defect of a folder is a `CheckpointError` that names the file and the reason. Nothing is
unpickled. Neither reading nor serving on a CPU imports torch, which saves half the memory.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from model.checkpoint.checksums import check_checksums, checksums_of, lines_of
from model.checkpoint.config import (
    CONFIG_FILE,
    WEIGHTS_FILE,
    CheckpointConfig,
    read_config,
    read_file,
)
from model.checkpoint.golden import GoldenSentence, read_golden
from model.checkpoint.parameters import n_parameters, parameter_shapes
from model.checkpoint.shortlist_file import SHORTLIST_FILE, read_shortlist
from model.checkpoint.tensor_file import Quantized, TensorFile
from model.decoding.shortlist import Shortlist
from model.errors import CheckpointError
from model.text.marian_tokenizer import MarianTokenizer
from model.text.multilingual_tokenizer import LanguageTokens, MultilingualTokenizer
from model.text.text_codec import TextCodec
from model.text.tokenizer import TOKENIZER_FILE, Tokenizer
from model.transformer.config import TransformerConfig


@dataclass(frozen=True)
class Checkpoint:
    """The validated content of a checkpoint folder.

    weights  float32 by name, read from the file on each access
    digest   SHA-256 over the lines of `sha256sum` for configuration, weights and vocabulary: equal
             digests, equal translations
    verified  whether the folder records the checksums of weights and vocabulary
    golden   sentences with their recorded translations
    quantized  the matrices that are stored in 8 bits
    shortlist  the candidates of a sentence's tokens, if the folder has any
    """

    folder: Path
    config: CheckpointConfig
    weights: Mapping[str, NDArray[np.float32]]
    tokenizer: TextCodec
    digest: str
    golden: tuple[GoldenSentence, ...] = ()
    quantized: Mapping[str, Quantized] = field(default_factory=dict)
    shortlist: Shortlist | None = None
    verified: bool = True

    @property
    def n_parameters(self) -> int:
        return n_parameters(self.config.transformer)


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a folder strictly. Raises `CheckpointError`."""
    config = read_config(folder)
    golden = read_golden(folder, config.directions)
    tokenizer = read_tokenizer(folder, config)
    weights = TensorFile(folder / WEIGHTS_FILE)
    check_weights(folder / WEIGHTS_FILE, config.transformer, weights, weights.quantized)
    shortlist = _read_shortlist(folder, config)
    parts = (WEIGHTS_FILE, *tokenizer.files, *[SHORTLIST_FILE] * (shortlist is not None))
    checksums = checksums_of(folder, (CONFIG_FILE, *parts))
    digest = hashlib.sha256(lines_of(checksums).encode()).hexdigest()
    verified = check_checksums(folder, {name: checksums[name] for name in parts})
    return Checkpoint(
        folder, config, weights, tokenizer, digest, golden, weights.quantized, shortlist, verified
    )


def _read_shortlist(folder: Path, config: CheckpointConfig) -> Shortlist | None:
    if config.shortlist is None:
        return None
    path, shape = folder / SHORTLIST_FILE, config.transformer
    # Their last row is `<pad>`, which Marian's vocabularies lack.
    n_source, n_target = shape.source_vocab_size - 1, shape.target_vocab_size - 1
    return read_shortlist(
        read_file(path), str(path), n_source=n_source, n_target=n_target,
        is_shared=shape.share_embeddings,
    )  # fmt: skip


def read_tokenizer(folder: Path, config: CheckpointConfig) -> TextCodec:
    """Read the vocabulary and check it against the configuration. Raises `CheckpointError`."""
    marian, multilingual = config.marian_vocabulary, config.multilingual_vocabulary
    path = folder if marian or multilingual else folder / TOKENIZER_FILE
    tokenizer: TextCodec
    if multilingual:
        tokenizer = MultilingualTokenizer.load(
            folder,
            LanguageTokens(multilingual.languages, multilingual.behind),
            config.transformer.source_vocab_size,
            listed=multilingual.listed,
        )
    elif marian:
        tokenizer = MarianTokenizer.load(
            folder,
            marian.target_symbols,
            separate=marian.separate,
            ends=marian.ends,
            moses=marian.moses,
        )
    else:
        tokenizer = Tokenizer.load(path)
    shape = config.transformer
    for name, ours, theirs in (
        ("vocabulary size", tokenizer.source_vocab_size, shape.source_vocab_size),
        ("vocabulary size", tokenizer.target_vocab_size, shape.target_vocab_size),
        ("pad_id", tokenizer.pad_id, shape.pad_id),
        ("eos_id", tokenizer.eos_id, shape.eos_id),
    ):
        if ours != theirs:
            raise CheckpointError(f"{path}: {name} {ours}, but {CONFIG_FILE} has {theirs}")
    for target in dict.fromkeys(target for _, target in config.directions):
        if not tokenizer.can_translate_to(target):
            raise CheckpointError(
                f"{path}: no symbol for '{target}', but {CONFIG_FILE} translates to it"
            )
    if multilingual:
        for source in dict.fromkeys(source for source, _ in config.directions):
            if source not in multilingual.languages:
                raise CheckpointError(
                    f"{path}: no symbol for '{source}', but {CONFIG_FILE} translates from it"
                )
    return tokenizer


def check_weights(
    path: Path,
    shape: TransformerConfig,
    weights: Mapping[str, NDArray[np.float32]],
    quantized: Mapping[str, Quantized] = MappingProxyType({}),
) -> None:
    """Raise `CheckpointError` unless `weights`, read from `path`, match the configuration.

    Of matrices in `quantized`, the codes are checked, not all values.
    """
    n_layers = shape.n_encoder_layers + shape.n_decoder_layers
    if n_layers > len(weights):  # before computing millions of names
        raise CheckpointError(
            f"{path}: has {len(weights):,} tensors, too few for the {n_layers:,} layers of "
            f"{CONFIG_FILE}"
        )
    expected = parameter_shapes(shape)
    for name, dimensions in expected.items():
        if name not in weights:
            raise CheckpointError(f"{path}: tensor '{name}' is missing")
        found = quantized[name].codes if name in quantized else weights[name]
        if found.shape != dimensions:
            raise CheckpointError(
                f"{path}: tensor '{name}' has shape {list(found.shape)}, "
                f"{CONFIG_FILE} requires {list(dimensions)}"
            )
        if not np.isfinite((np.min(found), np.max(found))).all():  # NaN propagates to both
            raise CheckpointError(f"{path}: tensor '{name}' holds NaN or infinity")
    if unknown := sorted(weights.keys() - expected.keys()):
        raise CheckpointError(f"{path}: unknown tensor {unknown[0]!r}")
