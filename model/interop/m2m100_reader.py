"""Reads a folder of M2M-100 or NLLB in Hugging Face format."""

from pathlib import Path

from model.checkpoint.config import read_file
from model.checkpoint.tensor_file import LazyTensors
from model.errors import CheckpointError
from model.interop.foreign_model import ForeignModel
from model.interop.huggingface.config_files import TOKENIZER_FILE, M2M100Config, read_object
from model.interop.huggingface.settings import read_settings
from model.interop.huggingface_reader import read_weights, shape_of
from model.interop.languages import Languages, select_pairs
from model.interop.m2m100.fast_tokenizer import FAST_TOKENIZER_FILE, sentencepiece_model
from model.interop.m2m100.languages import LANGUAGE_FILES, language_tokens
from model.text.marian_tokenizer import VOCABULARY_FILE
from model.text.multilingual_tokenizer import PIECES_FILE, LanguageTokens, MultilingualTokenizer

_TOKENIZERS = {"M2M100Tokenizer": True, "NllbTokenizer": False, "NllbTokenizerFast": False}
"""`tokenizer_class` → whether ids are listed in vocab.json."""


def read_m2m100(folder: Path, languages: Languages) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`."""
    settings = read_settings(folder, M2M100Config)
    config = settings.config
    tokenizer = _read_tokenizer(folder, config.vocab_size)
    for piece, ours, theirs in (
        ("</s>", tokenizer.eos_id, config.eos_id),
        ("<pad>", tokenizer.pad_id, config.pad_token_id),
    ):
        if ours != theirs:
            raise CheckpointError(
                f"{folder}: {piece} is {ours} in the vocabulary, {theirs} in config.json"
            )
    shape, weights = read_weights(
        folder,
        lambda found: shape_of(
            folder,
            settings,
            found,
            norm_order="pre",
            position_layout="marian",
            position_offset=config.pad_token_id + 1,
        ),
        tie=config.tie_word_embeddings,
        share=True,
    )
    return ForeignModel(
        project="M2M-100 or NLLB",
        origin="Hugging Face format",
        directions=select_pairs(str(folder), list(tokenizer.languages.tokens), languages),
        beam_size=settings.beam_size,
        length_penalty=settings.length_penalty,
        rule=settings.rule,
        processors=settings.processors,
        shape=shape,
        # An engine maps float32 embeddings from the checkpoint's file, so that of a vocabulary of
        # 256,000 only the rows in use take memory.
        weights=LazyTensors(
            weights,
            lambda name: (
                weights[name].float() if name.endswith("embedding.weight") else weights[name]
            ),
        ),
        tokenizer=tokenizer,
    )


def read_pieces(folder: Path) -> bytes:
    """Return a folder's SentencePiece model, else that of its tokenizer.json.

    Raises `CheckpointError`.
    """
    fast = folder / FAST_TOKENIZER_FILE
    if (folder / PIECES_FILE).exists() or not fast.exists():
        return read_file(folder / PIECES_FILE)
    return sentencepiece_model(read_object(fast), str(fast))


def _read_tokenizer(folder: Path, size: int) -> MultilingualTokenizer:
    path = folder / TOKENIZER_FILE
    declared = read_object(path) if path.exists() else {}
    kind = declared.get("tokenizer_class")
    if kind is not None and kind not in _TOKENIZERS:
        known = ", ".join(_TOKENIZERS)
        raise CheckpointError(f"{path}: tokenizer_class {kind!r}; attend can import {known}")
    listed = (folder / VOCABULARY_FILE).exists() if kind is None else _TOKENIZERS[kind]
    content = {PIECES_FILE: read_pieces(folder)}
    if listed:
        content[VOCABULARY_FILE] = read_file(folder / VOCABULARY_FILE)
    plain = MultilingualTokenizer(content, LanguageTokens({}), size, str(folder))
    files = {
        name: read_object(folder / name) for name in LANGUAGE_FILES if (folder / name).exists()
    }
    tokens = language_tokens(files, plain.n_pieces, listed=listed)
    behind = not listed and declared.get("legacy_behaviour") is True
    return MultilingualTokenizer(plain.files, LanguageTokens(tokens, behind), size, str(folder))
