"""Exports checkpoints as folders that `transformers` and CTranslate2's converter load.

Two of their architectures equal attend's except for the order of dimensions (`position_layout.py`):
Marian for post-norm, Pegasus for pre-norm. See docs/interop.md.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from model.checkpoint.config import (
    CARD_FILE,
    CONFIG_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    CheckpointConfig,
    read_config,
)
from model.checkpoint.golden import read_golden, write_golden
from model.checkpoint.reader import read_tokenizer
from model.checkpoint.writer import check_new_folder
from model.decoding.rules import MarianRule
from model.errors import CheckpointError
from model.interop.foreign_model import check_tensors
from model.interop.huggingface import marian_weights
from model.interop.huggingface.config_files import GENERATION_FILE
from model.interop.huggingface.config_files import TOKENIZER_FILE as TOKENIZER_CONFIG_FILE
from model.interop.huggingface.weight_files import read_tensors
from model.interop.marian_folder import KEPT_FOLDER
from model.interop.position_layout import to_halves
from model.text.marian_tokenizer import (
    EOS,
    MARIAN_ENDS,
    PAD,
    SOURCE_PIECES_FILE,
    TARGET_PIECES_FILE,
    TARGET_VOCABULARY_FILE,
    UNK,
    VOCABULARY_FILE,
)
from model.text.text_codec import TextCodec
from model.text.tokenizer import TOKENIZER_FILE, language_token
from model.transformer.config import NormOrder, TransformerConfig
from model.transformer.positions import sinusoidal_positions


@dataclass(frozen=True)
class Form:
    """An architecture of `transformers`."""

    model_type: str
    architecture: str
    norm_order: NormOrder
    fixed: Mapping[str, Any]


TORCH_EPSILON = 1e-5
"""Epsilon of LayerNorm in all their models."""

MARIAN = Form("marian", "MarianMTModel", "post", {"normalize_before": False})
# Both keys are for CTranslate2; they are implied by Pegasus in `transformers`.
PEGASUS = Form(
    "pegasus",
    "PegasusForConditionalGeneration",
    "pre",
    {"normalize_before": True, "normalize_embedding": False},
)


def export_huggingface(folder: Path, destination: Path, form: Form) -> list[str]:
    """Write `destination` atomically; return reasons why CTranslate2 would convert it wrongly.

    Raises `CheckpointError` if the checkpoint is damaged, or listing all that the format lacks.
    """
    config = read_config(folder)
    shape = config.transformer
    if faults := list(_inexpressible(config, form)):
        raise CheckpointError(f"{folder}: {form.architecture} cannot be {'; '.join(faults)}")
    check_new_folder(destination)
    golden = read_golden(folder, config.directions)
    tokenizer = read_tokenizer(folder, config)
    weights: Mapping[str, Tensor] = read_tensors(folder / WEIGHTS_FILE)
    check_tensors(folder / WEIGHTS_FILE, shape, weights)
    if shape.position_layout == "interleaved":
        weights = to_halves(weights, shape.d_model)
    destination = destination.resolve()
    partial = destination.with_name(f".{destination.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        theirs = _renamed(weights, shape, form)
        save_file(theirs, partial / "model.safetensors", metadata={"format": "pt"})
        (partial / "model.safetensors").chmod(0o644)
        dtype = str(theirs[marian_weights.OUTPUT_BIAS].dtype).removeprefix("torch.")
        _write(partial / "config.json", _config(shape, form) | {"dtype": dtype})
        _write(partial / GENERATION_FILE, _generation(config))
        for name, content in _vocabulary_files(tokenizer, config).items():
            (partial / name).write_bytes(content)
        _write(partial / TOKENIZER_CONFIG_FILE, _tokenizer_config(config))
        (partial / KEPT_FOLDER).mkdir()
        own_files = () if config.marian_vocabulary else (TOKENIZER_FILE,)
        for name in (CONFIG_FILE, CARD_FILE, TRAINING_FILE, *own_files):
            shutil.copyfile(folder / name, partial / KEPT_FOLDER / name)
        if golden:
            write_golden(partial / KEPT_FOLDER, golden)
        if destination.exists():
            destination.rmdir()
        partial.rename(destination)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return list(_ctranslate2_faults(shape, weights))


def _inexpressible(config: CheckpointConfig, form: Form) -> Iterator[str]:
    shape = config.transformer
    if config.marian_vocabulary and config.marian_vocabulary.ends != MARIAN_ENDS:
        yield "of a model whose sources do not end with </s> alone, as its tokeniser writes them"
    if config.marian_vocabulary and config.marian_vocabulary.moses:
        yield "of a model that splits text by Moses's rules"
    if shape.norm_order != form.norm_order:
        other = PEGASUS if form is MARIAN else MARIAN
        yield f"norm_order '{shape.norm_order}' (export {other.model_type} can)"
    if shape.position_layout == "marian":
        yield "position_layout 'marian' (transformers has the paper's wavelengths)"
    if shape.norm_epsilon != TORCH_EPSILON:
        yield f"norm_epsilon {shape.norm_epsilon} (transformers has {TORCH_EPSILON})"
    if form is PEGASUS and not shape.share_embeddings:
        yield "share_embeddings false"
    if form is PEGASUS and not shape.tie_output:
        yield "tie_output false"


def _ctranslate2_faults(shape: TransformerConfig, weights: Mapping[str, Tensor]) -> Iterator[str]:
    """Yield violations of what its converter (4.8) assumes without checking."""
    name = "source_embedding" if shape.share_embeddings else "target_embedding"
    if shape.n_heads != shape.n_heads_of_decoder:
        yield f"the sides have {shape.n_heads} and {shape.n_heads_of_decoder} heads"
    if not shape.share_embeddings:
        yield "the sides have different embeddings"
    if shape.norm_order == "pre":
        return
    if shape.pad_id != shape.target_vocab_size - 1:
        yield "<pad> is not the last id"
    if shape.start_id != shape.pad_id:
        yield "the decoder does not start with <pad>"
    if weights[f"{name}.weight"][shape.pad_id].any():
        yield "the embedding of <pad> is not zero"


def _renamed(
    weights: Mapping[str, Tensor], shape: TransformerConfig, form: Form
) -> dict[str, Tensor]:
    """Return tensors by their names. The bias is always included, as theirs is, possibly zero."""
    outside = {
        "source_embedding.weight": marian_weights.SHARED
        if shape.share_embeddings
        else marian_weights.SOURCE,
        "target_embedding.weight": marian_weights.TARGET,
        "output.weight": marian_weights.OUTPUT,
        **dict(marian_weights.final_norm_names(shape)),
    }
    names = dict(marian_weights.layer_names(shape)) | outside
    theirs = {
        names[ours]: tensor.contiguous()
        for ours, tensor in weights.items()
        if ours != "output.bias"
    }
    if shape.share_embeddings and not shape.tie_output:
        # Without tying, `transformers` ties neither of the embeddings.
        for name in (marian_weights.SOURCE, marian_weights.TARGET):
            theirs[name] = theirs[marian_weights.SHARED].clone()
    embedding = weights["source_embedding.weight"]
    bias = weights.get("output.bias", embedding.new_zeros(shape.target_vocab_size))
    if form is PEGASUS:
        # It computes them like Marian, but reports them as missing if they are not stored.
        for name in marian_weights.POSITIONS:
            theirs[name] = torch.from_numpy(
                sinusoidal_positions(shape.max_length, shape.d_model, "halves")
            )
    return theirs | {marian_weights.OUTPUT_BIAS: bias[None].contiguous()}


def _config(shape: TransformerConfig, form: Form) -> dict[str, Any]:
    return {
        "architectures": [form.architecture],
        "model_type": form.model_type,
        "is_encoder_decoder": True,
        "d_model": shape.d_model,
        "encoder_layers": shape.n_encoder_layers,
        "decoder_layers": shape.n_decoder_layers,
        "num_hidden_layers": shape.n_encoder_layers,
        "encoder_ffn_dim": shape.d_ff,
        "decoder_ffn_dim": shape.d_ff_of_decoder,
        "encoder_attention_heads": shape.n_heads,
        "decoder_attention_heads": shape.n_heads_of_decoder,
        "vocab_size": shape.source_vocab_size,
        "decoder_vocab_size": shape.target_vocab_size,
        "max_position_embeddings": shape.max_length,
        "static_position_embeddings": True,
        "activation_function": shape.activation,
        "dropout": shape.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": shape.scale_embedding,
        "share_encoder_decoder_embeddings": shape.share_embeddings,
        "tie_word_embeddings": shape.tie_output,
        "pad_token_id": shape.pad_id,
        "eos_token_id": shape.eos_id,
        "bos_token_id": None,
        "decoder_start_token_id": shape.start_id,
        "forced_eos_token_id": None,
        **form.fixed,
    }


def _generation(config: CheckpointConfig) -> dict[str, Any]:
    """Return the closest search in `transformers`; exact if the model was imported from there."""
    shape, rule, processors = config.transformer, config.search_rule, config.logits_processors
    generation: dict[str, Any] = {
        "num_beams": config.beam_size,
        "length_penalty": config.length_penalty,
        "max_length": shape.max_length,
        "bad_words_ids": [[shape.pad_id], *map(list, processors.bad_words_ids)],
        "min_new_tokens": processors.min_length or None,
        "no_repeat_ngram_size": processors.no_repeat_ngram_size,
        "repetition_penalty": processors.repetition_penalty,
        "pad_token_id": shape.pad_id,
        "eos_token_id": shape.eos_id,
        "decoder_start_token_id": shape.start_id,
    }
    if isinstance(rule, MarianRule):
        generation["early_stopping"] = "never"
    elif rule:
        generation["early_stopping"] = rule.early_stopping
        generation["renormalize_logits"] = rule.renormalise
        if rule.force_end:
            generation["forced_eos_token_id"] = shape.eos_id
        if rule.max_target_tokens:
            generation["max_length"] = rule.max_target_tokens + 1
    return generation


def _vocabulary_files(tokenizer: TextCodec, config: CheckpointConfig) -> Mapping[str, bytes]:
    if config.marian_vocabulary:
        return tokenizer.files
    model = tokenizer.files[TOKENIZER_FILE]
    symbol_of = {language_token(target): f">>{target}<<" for _, target in config.directions}
    pieces = [tokenizer.piece(index) for index in range(tokenizer.target_vocab_size)]
    vocabulary = {symbol_of.get(piece, piece): index for index, piece in enumerate(pieces)}
    return {
        SOURCE_PIECES_FILE: model,
        TARGET_PIECES_FILE: model,
        VOCABULARY_FILE: json.dumps(vocabulary, ensure_ascii=False, indent=0).encode(),
    }


def _tokenizer_config(config: CheckpointConfig) -> dict[str, Any]:
    source, target = config.directions[0]
    separate = config.marian_vocabulary is not None and config.marian_vocabulary.separate
    written: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": source,
        "target_lang": target,
        "model_max_length": config.transformer.max_length,
        "eos_token": EOS,
        "unk_token": UNK,
        "pad_token": PAD,
        "separate_vocabs": separate,
    }
    if separate:
        written["target_vocab_file"] = TARGET_VOCABULARY_FILE
    return written


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
