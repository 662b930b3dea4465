"""Reads a Marian folder in Hugging Face format."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import Tensor

from model.checkpoint.config import CONFIG_FILE
from model.checkpoint.tensor_file import LazyTensors
from model.errors import CheckpointError
from model.interop.foreign_model import ForeignModel, check_tensors
from model.interop.huggingface.config_files import TOKENIZER_FILE, MarianConfig, read_object
from model.interop.huggingface.marian_weights import Embeddings, embeddings, renamed
from model.interop.huggingface.settings import Settings, read_settings
from model.interop.huggingface.weight_files import read_tensors, weights_file
from model.interop.languages import GROUPS, Languages, directions, languages_of_card
from model.text.language_codes import codes_of_symbols, standard_codes
from model.text.marian_tokenizer import MarianTokenizer, symbols
from model.transformer.config import NormOrder, PositionLayout, TransformerConfig

_WRAPPER = "module."


def read_huggingface(folder: Path, languages: Languages) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`."""
    settings = read_settings(folder)
    config = settings.config
    tokenizer, pairs = _read_vocabulary(folder, config, languages)
    shape, weights = read_weights(
        folder,
        lambda found: shape_of(
            folder, settings, found, norm_order="post", position_layout="halves"
        ),
        tie=config.tie_word_embeddings,
        share=config.share_encoder_decoder_embeddings,
    )
    return ForeignModel(
        project="Marian",
        origin="Hugging Face format",
        directions=pairs,
        beam_size=settings.beam_size,
        length_penalty=settings.length_penalty,
        rule=settings.rule,
        processors=settings.processors,
        shape=shape,
        weights=weights,
        tokenizer=tokenizer,
    )


def read_weights(
    folder: Path, shape_for: Callable[[Embeddings], TransformerConfig], *, tie: bool, share: bool
) -> tuple[TransformerConfig, Mapping[str, Tensor]]:
    """Read a folder's tensors by our names, and their shape. Raises `CheckpointError`.

    tie, share  whether config.json declares the output as tied and the embeddings as shared
    """
    path = weights_file(folder)
    tensors = _without_wrapper(read_tensors(path))
    found = embeddings(path, tensors, tie=tie, share=share)
    shape = shape_for(found)
    weights = renamed(path, tensors, shape, found)
    check_tensors(path, shape, weights)
    return shape, weights


def _without_wrapper(tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return tensors by their own names if a wrapper of torch's (DataParallel) prefixed all."""
    if not all(name.startswith(_WRAPPER) for name in tensors):
        return tensors
    names = [name.removeprefix(_WRAPPER) for name in tensors]
    return LazyTensors(names, lambda name: tensors[_WRAPPER + name])


def shape_of(
    folder: Path,
    settings: Settings,
    found: Embeddings,
    *,
    norm_order: NormOrder,
    position_layout: PositionLayout,
    position_offset: int = 0,
) -> TransformerConfig:
    """Return the configuration of a folder's model. Raises `ConfigError`."""
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
        "target_vocab_size": config.target_vocab_size,
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
        "eos_id": config.eos_id,
        "start_id": config.decoder_start_token_id,
    }
    return TransformerConfig.parse(values, str(folder / CONFIG_FILE))


def _read_vocabulary(
    folder: Path, config: MarianConfig, languages: Languages
) -> tuple[MarianTokenizer, list[tuple[str, str]]]:
    """Read the tokeniser with the symbols of the selected targets, and the directions."""
    path = folder / TOKENIZER_FILE
    declared = read_object(path) if path.exists() else {}
    plain = MarianTokenizer.load(folder, {}, separate=declared.get("separate_vocabs") is True)
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
    targets = languages.targets or ([] if known else _declared_codes(declared, "target_lang"))
    sources = languages.sources or _sources(folder, declared, targets or list(known))
    pairs, symbol_of = directions(str(path), plain.source_pieces, Languages(sources, targets))
    return MarianTokenizer(plain.files, symbol_of, str(folder)), pairs


def _sources(folder: Path, declared: dict[str, object], targets: Sequence[str]) -> list[str]:
    """Return the declared source languages; those of a group are listed in the model's card."""
    codes = _declared_codes(declared, "source_lang")
    if GROUPS.isdisjoint(codes):
        return codes
    listed = languages_of_card(folder)
    both_sides = declared.get("source_lang") == declared.get("target_lang")
    return [code for code in listed if both_sides or code not in targets] or codes


def _declared_codes(declared: dict[str, object], key: str) -> list[str]:
    names = declared.get(key)
    return standard_codes(names) if isinstance(names, str) and names else []
