"""Reads a folder of M2M-100 or NLLB in Hugging Face format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from torch import Tensor

from model.checkpoint.config import MultilingualVocabulary
from model.checkpoint.directions import AnyPair, Direction
from model.errors import CheckpointError, TokenizerError
from model.interop.foreign_model import ForeignModel
from model.interop.huggingface.config_files import TOKENIZER_FILE, M2M100Config, read_object
from model.interop.huggingface.marian_weights import embeddings, renamed
from model.interop.huggingface.settings import read_settings
from model.interop.huggingface.weight_files import read_tensors, weights_file
from model.interop.huggingface_reader import shape_of
from model.interop.languages_said import Languages
from model.interop.m2m100.languages import (
    FAST_TOKENIZER_FILE,
    LANGUAGE_FILES,
    language_tokens,
)
from model.interop.tensor_check import check_tensors
from model.text.marian_tokenizer import VOCABULARY_FILE
from model.text.multilingual_tokenizer import (
    PIECES_FILE,
    LanguageTokens,
    MultilingualTokenizer,
)

_TOKENIZERS = {
    "M2M100Tokenizer": True,
    "NllbTokenizer": False,
    "NllbTokenizerFast": False,
}
"""`tokenizer_class` → whether ids are listed in vocab.json."""


def read_m2m100(folder: Path, languages: Languages) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`."""
    settings = read_settings(folder, M2M100Config)
    size = settings.config.vocab_size
    tokenizer = _read_tokenizer(folder, size)
    for piece, ours, theirs in (
        ("</s>", tokenizer.eos_id, settings.config.eos_id),
        ("<pad>", tokenizer.pad_id, settings.config.pad_token_id),
    ):
        if ours != theirs:
            raise CheckpointError(
                f"{folder}: {piece} is {ours} in the vocabulary, {theirs} in config.json"
            )
    path = weights_file(folder)
    tensors = read_tensors(path)
    found = embeddings(path, tensors, tie=settings.config.tie_word_embeddings, share=True)
    shape = shape_of(
        folder,
        settings,
        found,
        norm_order="pre",
        position_layout="marian",
        position_offset=settings.config.pad_token_id + 1,
    )
    weights = renamed(path, tensors, shape, found)
    check_tensors(path, shape, weights)
    return ForeignModel(
        project="M2M-100 or NLLB",
        origin="Hugging Face format",
        directions=_directions(folder, list(tokenizer.languages.tokens), languages),
        beam_size=settings.beam_size,
        length_penalty=settings.length_penalty,
        rule=settings.rule,
        shape=shape,
        weights=_StoredWeights(weights),
        tokenizer=tokenizer,
        multilingual_vocabulary=MultilingualVocabulary(
            listed=VOCABULARY_FILE in tokenizer.files,
            languages=dict(tokenizer.languages.tokens),
            behind=tokenizer.languages.behind,
        ),
    )


def _read_tokenizer(folder: Path, size: int) -> MultilingualTokenizer:
    path = folder / TOKENIZER_FILE
    said = read_object(path) if path.exists() else {}
    called = said.get("tokenizer_class")
    if called is not None and called not in _TOKENIZERS:
        known = ", ".join(_TOKENIZERS)
        raise CheckpointError(f"{path}: tokenizer_class {called!r}; attend can import {known}")
    if not (folder / PIECES_FILE).exists():
        hint = (
            f": transformers 5 saves {FAST_TOKENIZER_FILE} alone; copy the file from the model "
            "that this one was trained from"
            if (folder / FAST_TOKENIZER_FILE).exists()
            else ""
        )
        raise CheckpointError(f"{folder}: no {PIECES_FILE}{hint}")
    listed = (folder / VOCABULARY_FILE).exists() if called is None else _TOKENIZERS[called]
    try:
        plain = MultilingualTokenizer.load(folder, LanguageTokens({}), size, listed=listed)
        files = {
            name: read_object(folder / name) for name in LANGUAGE_FILES if (folder / name).exists()
        }
        tokens = language_tokens(files, plain.n_pieces, listed=listed)
        behind = not listed and said.get("legacy_behaviour") is True
        return MultilingualTokenizer(plain.files, LanguageTokens(tokens, behind), size, str(folder))
    except TokenizerError as error:
        raise CheckpointError(str(error)) from None


def _directions(folder: Path, known: list[str], languages: Languages) -> list[Direction] | AnyPair:
    """All pairs, or those between the given sources and targets."""
    for side, codes in (("source", languages.sources), ("target", languages.targets)):
        if unknown := [code for code in codes if code not in known]:
            raise CheckpointError(
                f"{folder}: no {side} language {unknown[0]!r}; there are: {', '.join(known)}"
            )
    if not languages.sources and not languages.targets:
        return AnyPair(tuple(known))
    sources, targets = languages.sources or known, languages.targets or known
    pairs = dict.fromkeys(
        (source, target) for source in sources for target in targets if source != target
    )
    if not pairs:
        raise CheckpointError(f"{folder}: from {', '.join(sources)} to itself is no translation")
    if len(sources) > 1 and set(sources) == set(targets):
        return AnyPair(tuple(dict.fromkeys(sources)))
    return list(pairs)


class _StoredWeights(Mapping[str, Tensor]):
    """As they are read, but embeddings in float32, which an engine maps from the file.

    Of a vocabulary of 256,000, it then holds the rows that it was asked for, not a converted copy.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._weights = weights

    def __getitem__(self, name: str) -> Tensor:
        tensor = self._weights[name]
        return tensor.float() if name.endswith("embedding.weight") else tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)
