"""Small random models in Marian's format, and the same ones in `transformers`."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from numpy.typing import NDArray

from tests.marian_folder import SOURCE_WORDS, TARGET_WORDS, learn_pieces, pieces_of, random_model

PRE_NORM = {
    "transformer-preprocess": "n",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
}
ABSENT = -10_000.0
NEWEST = "v1.12.42"
"""A version with exact `gelu`; the others here are older."""
OPTIONS: dict[str, Any] = {
    "type": "transformer",
    "version": "v1.10.0",
    "dim-emb": 32,
    "enc-depth": 2,
    "dec-depth": 1,
    "transformer-heads": 4,
    "transformer-dim-ffn": 48,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "swish",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False,
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-train-position-embeddings": False,
    "transformer-tied-layers": [],
    "transformer-guided-alignment-layer": "last",
    "tied-embeddings": False,
    "tied-embeddings-src": False,
    "tied-embeddings-all": True,
    "vocabs": ["/where/it/was/trained/opus.vocab.yml"] * 2,
}


def embedded(options: dict[str, Any]) -> NDArray[np.int8]:
    """Return options as Marian stores them: YAML and a zero byte."""
    return np.frombuffer(yaml.safe_dump(options).encode() + b"\0", dtype=np.int8)


def marian_positions(length: int, d_model: int) -> torch.Tensor:
    """Term by term as in Marian's node_initializers.cpp."""
    timescales = d_model // 2
    increment = math.log(10_000) / (timescales - 1)
    angles = [[p * math.exp(-i * increment) for i in range(timescales)] for p in range(length)]
    return torch.tensor([[math.sin(a) for a in row] + [math.cos(a) for a in row] for row in angles])


def write_vocabulary(path: Path, pieces: Sequence[str]) -> None:
    lines = [f"{json.dumps(piece, ensure_ascii=False)}: {i}\n" for i, piece in enumerate(pieces)]
    path.write_text("".join(lines), encoding="utf-8")


def _vectors(scope: str, linear: Any, number: str) -> dict[str, torch.Tensor]:
    return {f"{scope}_W{number}": linear.weight.T, f"{scope}_b{number}": linear.bias[None]}


def _norm(scope: str, norm: Any) -> dict[str, torch.Tensor]:
    return {f"{scope}_ln_scale": norm.weight[None], f"{scope}_ln_bias": norm.bias[None]}


def _attention(scope: str, attention: Any, norm: Any) -> dict[str, torch.Tensor]:
    arrays = _norm(f"{scope}_Wo", norm)
    for number, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        arrays |= _vectors(scope, getattr(attention, name), number)
    return arrays


def _layer(scope: str, layer: Any) -> dict[str, torch.Tensor]:
    arrays = _attention(f"{scope}_self", layer.self_attn, layer.self_attn_layer_norm)
    if hasattr(layer, "encoder_attn"):
        arrays |= _attention(f"{scope}_context", layer.encoder_attn, layer.encoder_attn_layer_norm)
    arrays |= _vectors(f"{scope}_ffn", layer.fc1, "1") | _vectors(f"{scope}_ffn", layer.fc2, "2")
    return arrays | _norm(f"{scope}_ffn_ffn", layer.final_layer_norm)


def _activation(name: str, version: str) -> str:
    return "quick_gelu" if name == "gelu" and version != NEWEST else name


def npz_of(folder: Path) -> Path:
    [path] = folder.glob("*.npz")
    return path


def change_npz(folder: Path, **changes: Any) -> None:
    """Replace arrays, or remove those that are None; `options` are the model's."""
    path = npz_of(folder)
    with np.load(path) as file:
        arrays = dict(file)
    if options := changes.pop("options", None):
        text = arrays["special:model.yml"].tobytes().rstrip(b"\0")
        changes["special:model.yml"] = embedded(yaml.safe_load(text) | options)
    arrays |= changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def _make_pre_norm(folder: Path) -> None:
    """Rename norms to Marian's pre-norm names, and add one on top of each stack."""
    with np.load(npz_of(folder)) as file:
        arrays = dict(file)
    changes: dict[str, Any] = {}
    for name in [name for name in arrays if "_ln_" in name]:
        changes |= {name: None, f"{name}_pre": arrays[name]}
    some = np.random.default_rng(0)
    for stack in ("encoder", "decoder"):
        changes[f"{stack}_top_ln_scale"] = some.normal(1, 0.3, (1, 32)).astype(np.float32)
        changes[f"{stack}_top_ln_bias"] = some.normal(0, 0.3, (1, 32)).astype(np.float32)
    change_npz(folder, **changes)


def write_npz_folder(
    folder: Path,
    *,
    separate: bool = False,
    longer_target: bool = False,
    tie: bool = True,
    legacy_output: bool = False,
    bias: bool = True,
    dtype: type[np.floating[Any]] = np.float32,
    pre_norm: bool = False,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Write a folder as of OPUS-MT → the same model in `transformers`, except for `pre_norm`."""
    folder.mkdir(parents=True)
    source, target = learn_pieces(SOURCE_WORDS, 60), learn_pieces(TARGET_WORDS, 55)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    sides = [pieces_of(source), pieces_of(target)]
    specials = ["</s>", "<unk>"]
    if separate:
        n = min(map(len, sides))
        sides = [[*specials, *sides[0][:n]], [*specials, *sides[1][:n]]]
        if longer_target:
            sides[1] += ["▁longer", "▁longest"]
        vocabularies = ["opus.src.vocab.yml", "opus.trg.vocab.yml"]
        tying = {"tied-embeddings-all": False, "tied-embeddings": tie}
    else:
        sides = [[*specials, *dict.fromkeys(sides[0] + sides[1])]] * 2
        vocabularies = ["opus.vocab.yml"] * 2
        tying = {} if tie else {"tied-embeddings-all": False, "tied-embeddings-src": True}
    for name, side in zip(vocabularies, sides, strict=True):
        write_vocabulary(folder / name, side)
    values = OPTIONS | {"dim-vocabs": [len(side) for side in sides]} | tying | options
    if pre_norm:
        values |= PRE_NORM
    pad = min(map(len, sides))
    theirs = random_model(
        seed,
        vocab_size=len(sides[0]) + 1,
        decoder_vocab_size=len(sides[1]) + 1,
        share_encoder_decoder_embeddings=not separate,
        tie_word_embeddings=tie,
        encoder_layers=values["enc-depth"],
        decoder_layers=values["dec-depth"],
        encoder_ffn_dim=values["transformer-dim-ffn"],
        decoder_ffn_dim=values.get("transformer-decoder-dim-ffn") or values["transformer-dim-ffn"],
        encoder_attention_heads=values["transformer-heads"],
        decoder_attention_heads=values["transformer-heads"],
        activation_function=_activation(values["transformer-ffn-activation"], values["version"]),
        pad_token_id=pad,
        decoder_start_token_id=pad,
    )
    encoder, decoder = theirs.model.encoder, theirs.model.decoder
    with torch.no_grad():
        for stack in (encoder, decoder):
            stack.embed_tokens.weight[pad] = 0
        if not separate and not tie:  # untied, `transformers` ties neither of the embeddings
            decoder.embed_tokens.weight.copy_(encoder.embed_tokens.weight)
        theirs.lm_head.weight[pad] = 0
        if not bias:
            theirs.final_logits_bias.zero_()
        theirs.final_logits_bias[0, pad] = ABSENT
        theirs.to(torch.from_numpy(np.zeros(0, dtype)).dtype)
        arrays: dict[str, torch.Tensor] = {}
        for name, stack in (("encoder", encoder), ("decoder", decoder)):
            for i, layer in enumerate(stack.layers, start=1):
                arrays |= _layer(f"{name}_l{i}", layer)
        keep = [row for row in range(len(sides[1]) + 1) if row != pad]
        source_rows = [row for row in range(len(sides[0]) + 1) if row != pad]
        prefixes = ("encoder_", "decoder_") if separate else ("", "")
        arrays[f"{prefixes[0]}Wemb"] = encoder.embed_tokens.weight[source_rows]
        arrays[f"{prefixes[1]}Wemb"] = decoder.embed_tokens.weight[keep]
        if not tie:
            output = theirs.lm_head.weight[keep]
            name = "decoder_ff_logit_out_W"
            arrays |= {name: output.T} if legacy_output else {f"{name}t": output}
        if bias:
            arrays["decoder_ff_logit_out_b"] = theirs.final_logits_bias[:, keep]
        stored = {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in arrays.items()}
    np.savez(
        folder / "opus.transformer.model1.npz.best-perplexity.npz",
        allow_pickle=False,
        **{"special:model.yml": embedded(values)},
        **stored,
    )
    if pre_norm:
        _make_pre_norm(folder)
    decoder_options = {
        "models": ["opus.transformer.model1.npz.best-perplexity.npz"],
        "vocabs": vocabularies,
        "beam-size": 6,
        "normalize": 1,
        "word-penalty": 0,
        "relative-paths": True,
    }
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder_options), encoding="utf-8")
    theirs.float()
    for module in theirs.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-6
    with torch.no_grad():
        for stack in (encoder, decoder):
            stack.embed_positions.weight.copy_(marian_positions(64, 32))
    return theirs
