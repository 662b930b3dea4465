"""Reads a Marian folder in Hugging Face format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from model.checkpoint.config import CONFIG_FILE
from model.errors import CheckpointError, TokenizerError
from model.interop.foreign_model import ForeignModel, vocabulary_of
from model.interop.huggingface.config_files import TOKENIZER_FILE, read_object
from model.interop.huggingface.marian_weights import Embeddings, embeddings, renamed
from model.interop.huggingface.settings import Settings, read_settings
from model.interop.huggingface.weight_files import read_tensors, weights_file
from model.interop.languages_said import Languages, directions
from model.interop.model_card import GROUPS, languages_of_card
from model.interop.tensor_check import check_tensors
from model.text.language_codes import codes_of_symbols, language_codes
from model.text.marian_tokenizer import MarianTokenizer, symbols
from model.transformer.config import NormOrder, PositionLayout, TransformerConfig


def read_huggingface(folder: Path, languages: Languages) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`."""
    settings = read_settings(folder)
    tokenizer, pairs = _read_vocabulary(folder, settings, languages)
    path = weights_file(folder)
    tensors = read_tensors(path)
    found = embeddings(
        path,
        tensors,
        tie=settings.config.tie_word_embeddings,
        share=settings.config.share_encoder_decoder_embeddings,
    )
    shape = shape_of(folder, settings, found, norm_order="post", position_layout="halves")
    weights = renamed(path, tensors, shape, found)
    check_tensors(path, shape, weights)
    return ForeignModel(
        project="Marian",
        origin="Hugging Face format",
        directions=pairs,
        beam_size=settings.beam_size,
        length_penalty=settings.length_penalty,
        rule=settings.rule,
        shape=shape,
        weights=weights,
        tokenizer=tokenizer,
        marian_vocabulary=vocabulary_of(tokenizer),
    )


def shape_of(
    folder: Path,
    settings: Settings,
    found: Embeddings,
    *,
    norm_order: NormOrder,
    position_layout: PositionLayout,
    position_offset: int = 0,
) -> TransformerConfig:
    """Return a folder's shape in our terms. Raises `ConfigError`."""
    config = settings.config
    values = {
        "d_model": config.d_model,
        "d_ff": config.encoder_ffn_dim,
        "n_heads": config.encoder_attention_heads,
        "decoder_d_ff": config.decoder_ffn_dim,
        "decoder_n_heads": config.decoder_attention_heads,
        "n_encoder_layers": config.encoder_layers,
        "n_decoder_layers": config.decoder_layers,
        "source_vocab_size": config.vocab_size,
        "target_vocab_size": settings.config.target_vocab_size,
        "max_length": config.max_position_embeddings,
        "dropout": config.dropout,
        "activation": settings.activation,
        "norm_order": norm_order,
        "position_layout": position_layout,
        "position_offset": position_offset,
        "scale_embedding": config.scale_embedding,
        "share_embeddings": found.shared,
        "tie_output": found.tied,
        "output_bias": found.bias is not None,
        "pad_id": config.pad_token_id,
        "eos_id": settings.config.eos_id,
        "start_id": config.decoder_start_token_id,
    }
    return TransformerConfig.parse(values, str(folder / CONFIG_FILE))


def _read_vocabulary(
    folder: Path, settings: Settings, languages: Languages
) -> tuple[MarianTokenizer, list[tuple[str, str]]]:
    """Read the tokeniser with the symbols of the selected targets, and the directions."""
    path = folder / TOKENIZER_FILE
    said = read_object(path) if path.exists() else {}
    try:
        plain = MarianTokenizer.load(folder, {}, separate=said.get("separate_vocabs") is True)
    except TokenizerError as error:
        raise CheckpointError(str(error)) from None
    config = settings.config
    for side, ours, theirs in (
        ("pieces", plain.source_vocab_size, config.vocab_size),
        ("target pieces", plain.target_vocab_size, config.target_vocab_size),
        ("as the id of </s>", plain.eos_id, config.eos_id),
        ("as the id of <pad>", plain.pad_id, config.pad_token_id),
    ):
        if ours != theirs:
            raise CheckpointError(
                f"{folder}: the vocabulary has {ours} {side}, config.json {theirs}"
            )
    known = codes_of_symbols(symbols(plain.source_pieces))
    targets = languages.targets or ([] if known else _said(said, "target_lang"))
    sources = languages.sources or _sources(folder, said, targets or list(known))
    said_languages = Languages(sources, targets)
    pairs, wanted = directions(str(path), plain.source_pieces, said_languages)
    return MarianTokenizer(plain.files, wanted, str(folder)), pairs


def _sources(folder: Path, said: dict[str, object], targets: Sequence[str]) -> list[str]:
    """Return the declared source languages; those of a group are on the model's card."""
    declared = _said(said, "source_lang")
    if GROUPS.isdisjoint(declared):
        return declared
    listed = languages_of_card(folder)
    both_sides = said.get("source_lang") == said.get("target_lang")
    return [code for code in listed if both_sides or code not in targets] or declared


def _said(said: dict[str, object], key: str) -> list[str]:
    names = said.get(key)
    return language_codes(names) if isinstance(names, str) and names else []
