"""A Marian or OPUS-MT folder in Hugging Face form to a checkpoint of ours (docs/interop.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model.checkpoint import (
    CARD_FILE,
    CONFIG_FILE,
    TRAINING_FILE,
    CheckpointConfig,
    MarianVocabulary,
    check_new_folder,
    check_weights,
    read_config,
    read_file,
    read_tokenizer,
    save_checkpoint,
)
from model.config import TransformerConfig
from model.errors import CheckpointError, TokenizerError
from model.interop import key_map
from model.interop.huggingface_export import KEPT_FOLDER
from model.interop.language_codes import codes_of_symbols, language_code
from model.interop.marian_config import TOKENIZER_FILE, Settings, read_object, read_settings
from model.interop.marian_weights import (
    Embeddings,
    embeddings,
    read_tensors,
    renamed,
    weights_file,
)
from model.interop.position_layout import to_interleaved
from model.marian_tokenizer import MarianTokenizer, symbols
from model.transformer import transformer_without_weights

_CARD = """# {name}

A Marian model, imported by attend from a folder in Hugging Face form. Its licence, its training
data and whom to credit are what its publisher says of it.
"""


@dataclass(frozen=True)
class Languages:
    """What an importing person says; empty is what the folder says."""

    sources: Sequence[str] = ()
    targets: Sequence[str] = ()


def is_marian(folder: Path) -> bool:
    """Whether the folder is one for `import_marian`, as far as a glance tells."""
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        return True
    try:
        return read_object(folder / CONFIG_FILE).get("model_type") == "marian"
    except CheckpointError:
        return False


def import_marian(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = Languages()
) -> CheckpointConfig:
    """Write a checkpoint to `destination`, whole or not at all. `name` defaults to the folder's.

    Raises `CheckpointError` if anything in the folder is missing, damaged or beyond attend.
    """
    if not folder.is_dir():
        reason = "not a folder" if folder.exists() else "no such folder"
        raise CheckpointError(f"{folder}: {reason}; expected a Marian model in Hugging Face form")
    check_new_folder(destination)
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        if languages.sources or languages.targets:
            raise CheckpointError(f"{folder}: attend's own export, which knows its languages")
        return _restore(folder, destination, name)
    settings = read_settings(folder)
    tokenizer, directions = _read_vocabulary(folder, settings, languages)
    path = weights_file(folder)
    tensors = read_tensors(path)
    found = embeddings(
        path,
        tensors,
        tie=settings.config.tie_word_embeddings,
        share=settings.config.share_encoder_decoder_embeddings,
    )
    shape = _shape(folder, settings, found)
    weights = renamed(path, tensors, shape, found)
    check_weights(path, transformer_without_weights(shape), weights)
    name = name or folder.resolve().name
    config = CheckpointConfig(
        name=name,
        directions=directions,
        beam_size=settings.beam_size,
        length_penalty=settings.length_penalty,
        search_rule=settings.rule,
        marian_vocabulary=MarianVocabulary(
            separate=tokenizer.separate, target_symbols=tokenizer.target_symbols
        ),
        transformer=shape,
    )
    save_checkpoint(
        destination,
        config,
        {name: tensor.contiguous() for name, tensor in weights.items()},
        tokenizer,
        _CARD.format(name=name),
        {"imported_from": "marian, Hugging Face form"},
    )
    return config


def _restore(folder: Path, destination: Path, name: str | None) -> CheckpointConfig:
    """What attend exported, as it was, unless it is to have another name."""
    kept = folder / KEPT_FOLDER
    config = read_config(kept)
    if name:
        config = config.model_copy(update={"name": name})
    shape = config.transformer
    path = weights_file(folder)
    tensors = read_tensors(path)
    found = embeddings(path, tensors, tie=shape.tie_output, share=shape.share_embeddings)
    weights = renamed(path, tensors, shape, found)
    if shape.output_bias and key_map.OUTPUT_BIAS in tensors:  # even if it is zero
        weights["output.bias"] = tensors[key_map.OUTPUT_BIAS].flatten()
    check_weights(path, transformer_without_weights(shape), weights)
    if shape.position_layout == "interleaved":
        weights = to_interleaved(weights, shape.d_model)
    tokenizer = read_tokenizer(folder if config.marian_vocabulary else kept, config)
    card = read_file(kept / CARD_FILE).decode("utf-8", errors="replace")
    training = read_object(kept / TRAINING_FILE)
    save_checkpoint(destination, config, weights, tokenizer, card, training)
    return config


def _shape(folder: Path, settings: Settings, found: Embeddings) -> TransformerConfig:
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
        "target_vocab_size": settings.target_vocab_size,
        "max_length": config.max_position_embeddings,
        "dropout": config.dropout,
        "activation": settings.activation,
        "norm_order": "post",
        "position_layout": "halves",
        "scale_embedding": config.scale_embedding,
        "share_embeddings": found.shared,
        "tie_output": found.tied,
        "output_bias": found.bias is not None,
        "pad_id": config.pad_token_id,
        "eos_id": settings.eos_id,
        "start_id": config.decoder_start_token_id,
    }
    return TransformerConfig.parse(values, str(folder / CONFIG_FILE))


def _read_vocabulary(
    folder: Path, settings: Settings, languages: Languages
) -> tuple[MarianTokenizer, list[tuple[str, str]]]:
    """The tokeniser with the symbols of the wanted targets, and the directions."""
    path = folder / TOKENIZER_FILE
    said = read_object(path) if path.exists() else {}
    try:
        plain = MarianTokenizer.load(folder, {}, separate=said.get("separate_vocabs") is True)
    except TokenizerError as error:
        raise CheckpointError(str(error)) from None
    config = settings.config
    for side, ours, theirs in (
        ("pieces", plain.source_vocab_size, config.vocab_size),
        ("target pieces", plain.target_vocab_size, settings.target_vocab_size),
        ("as the id of </s>", plain.eos_id, settings.eos_id),
        ("as the id of <pad>", plain.pad_id, config.pad_token_id),
    ):
        if ours != theirs:
            raise CheckpointError(
                f"{folder}: the vocabulary has {ours} {side}, config.json {theirs}"
            )
    sources = languages.sources or _said(said, "source_lang", path, "--source")
    known = codes_of_symbols(symbols(plain.source_pieces))
    if not known:
        targets = languages.targets or _said(said, "target_lang", path, "--target")
        return plain, _pairs(sources, targets)
    targets = languages.targets or list(known)
    if unknown := [code for code in targets if code not in known]:
        raise CheckpointError(
            f"{folder}: no symbol for {unknown[0]!r}; there are: {', '.join(known)}"
        )
    wanted = {code: known[code] for code in targets}
    return MarianTokenizer(plain.files, wanted, str(folder)), _pairs(sources, targets)


def _said(said: dict[str, object], key: str, path: Path, option: str) -> list[str]:
    language = said.get(key)
    if not isinstance(language, str) or not language:
        raise CheckpointError(f"{path}: says no {key}; `attend import marian {option}` does")
    return [language_code(language)]


def _pairs(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [(source, target) for source in sources for target in targets if source != target]
    if not pairs:
        raise CheckpointError(f"from {', '.join(sources)} to itself is no translation")
    return list(dict.fromkeys(pairs))
