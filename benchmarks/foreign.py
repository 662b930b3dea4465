"""Random models with natural lengths in the formats of Marian, M2M-100 and NLLB.

Their weights are fitted by `benchmarks.natural`, written as the other project does, and imported.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import yaml
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from benchmarks.checkpoints import NEVER
from benchmarks.natural import Lengths, fit_end, lengths, sources_of_pieces
from benchmarks.system import Ids
from model.checkpoint.tensor_writer import write_tensors
from model.interop.huggingface import key_map as huggingface_names
from model.interop.m2m100.languages import M2M100_LISTS, NLLB_LIST
from model.interop.npz import key_map as npz_names
from model.text.multilingual_tokenizer import PIECES_FILE, SPECIAL
from model.transformer.config import PRESETS, TransformerConfig
from model.transformer.transformer import Transformer
from tests.marian_npz import NEWEST, OPTIONS, embedded, write_vocabulary

SHIFT = 0.1
"""Of the final LayerNorm of M2M-100: where the output has no bias, `fit_end` uses it."""
MARIAN_SPECIAL = ("</s>", "<unk>")
BEAM = 4


@dataclass(frozen=True)
class Foreign:
    """A folder in another project's format.

    sources  ids as attend's tokeniser gives them
    seen     lengths of greedy translations of sources that were not fitted
    """

    folder: Path
    sources: Sequence[Ids]
    seen: Lengths


def invented_pieces(n: int) -> list[str]:
    """Return n distinct words of random letters, each with the mark of a word's beginning."""
    choose = random.Random(3)
    found: dict[str, None] = {}
    while len(found) < n:
        letters = choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randint(3, 8))
        found["▁" + "".join(letters)] = None
    return list(found)


def piece_model(pieces: Sequence[str]) -> bytes:
    """Return a SentencePiece model (BPE) of letters and these pieces, behind three symbols."""
    proto = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    proto.trainer_spec.model_type = proto.trainer_spec.BPE
    proto.normalizer_spec.name = "identity"
    for name, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):  # UNKNOWN, CONTROL
        proto.pieces.add(piece=name, score=0, type=kind)
    for index, piece in enumerate(pieces):
        proto.pieces.add(piece=piece, score=-float(index))
    content: bytes = proto.SerializeToString()
    return content


def fitted(
    shape: TransformerConfig,
    sources: Sequence[Ids],
    n_fitted: int,
    first_id: int | None,
    prepare: Callable[[Transformer], None],
) -> tuple[Transformer, Lengths]:
    """Return a random model that ends sentences, and how long the sentences behind are."""
    torch.manual_seed(1)
    model = Transformer(shape).eval()
    with torch.no_grad():
        prepare(model)
    fit_end(model, sources[:n_fitted], first_id)
    return model, lengths(model, sources[n_fitted : 2 * n_fitted] or sources, first_id)


def write_marian(
    folder: Path, preset: str, vocab_size: int, sizes: Sequence[int], n_fitted: int
) -> Foreign:
    """Write a model in Marian's own format, post-norm, one vocabulary, tied."""
    folder.mkdir(parents=True)
    pieces = [*MARIAN_SPECIAL, *invented_pieces(vocab_size - len(MARIAN_SPECIAL))]
    vocabulary = folder / "opus.vocab.yml"
    write_vocabulary(vocabulary, pieces)
    content = piece_model(pieces[len(MARIAN_SPECIAL) :])
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(content)
    update = {
        "source_vocab_size": vocab_size + 1,  # attend's has <pad>
        "target_vocab_size": vocab_size + 1,
        "norm_epsilon": 1e-6,
        "position_layout": "marian",
        "output_bias": True,
        "pad_id": vocab_size,
        "eos_id": 0,
        "start_id": vocab_size,
    }
    shape = PRESETS[preset].model_copy(update=update)
    sources = sources_of_pieces(sizes, range(len(MARIAN_SPECIAL), vocab_size), after=(0,))

    def prepare(model: Transformer) -> None:
        assert model.output.bias is not None  # noqa: S101  (the shape has one)
        model.output.bias[1] = model.output.bias[shape.pad_id] = NEVER

    model, seen = fitted(shape, sources, n_fitted, None, prepare)
    weights = dict(model.named_parameters())
    arrays = {theirs: weights[ours].T for ours, theirs in npz_names.matrix_names(shape)} | {
        theirs: weights[ours][None] for ours, theirs in npz_names.vector_names(shape)
    }
    arrays[npz_names.EMBEDDING] = weights["source_embedding.weight"][:vocab_size]
    arrays[npz_names.OUTPUT_BIAS] = weights["output.bias"][None, :vocab_size]
    options = OPTIONS | {
        "version": NEWEST,
        "dim-vocabs": [vocab_size] * 2,
        "dim-emb": shape.d_model,
        "enc-depth": shape.n_encoder_layers,
        "dec-depth": shape.n_decoder_layers,
        "transformer-heads": shape.n_heads,
        "transformer-dim-ffn": shape.d_ff,
        "transformer-ffn-activation": shape.activation,
    }
    del options["vocabs"]  # which would have to be where they were; decoder.yml names them
    stored = {name: np.ascontiguousarray(one.detach().numpy()) for name, one in arrays.items()}
    np.savez(
        folder / "model.npz",
        allow_pickle=False,
        **{"special:model.yml": embedded(options)},
        **stored,
    )
    search = {
        "models": ["model.npz"],
        "vocabs": [vocabulary.name] * 2,
        "beam-size": BEAM,
        "normalize": 1,
        "relative-paths": True,
    }
    (folder / "decoder.yml").write_text(yaml.safe_dump(search), "utf-8")
    return Foreign(folder, sources, seen)


@dataclass(frozen=True)
class Multilingual:
    """A kind of model of many languages, and its shape.

    listed   ids of pieces are in vocab.json (M2M-100), not in the order of the SentencePiece model
    unused   ids behind the languages
    """

    listed: bool
    n_pieces: int
    unused: int
    d_model: int = 1024
    d_ff: int = 4096
    n_heads: int = 16
    n_layers: int = 12

    @property
    def languages(self) -> Sequence[str]:
        """Return the language tokens, by id."""
        listed = [f"__{code}__" for code in M2M100_LISTS["m2m100"]]
        return listed if self.listed else list(NLLB_LIST)

    @property
    def shape(self) -> TransformerConfig:
        """Return the shape, as attend imports it."""
        vocab_size = self.n_pieces + len(self.languages) + self.unused
        return TransformerConfig(
            d_model=self.d_model,
            d_ff=self.d_ff,
            n_heads=self.n_heads,
            n_encoder_layers=self.n_layers,
            n_decoder_layers=self.n_layers,
            source_vocab_size=vocab_size,
            target_vocab_size=vocab_size,
            max_length=1024,
            norm_order="pre",
            position_layout="marian",
            position_offset=2,
            pad_id=1,
            eos_id=2,
            start_id=2,
        )


MULTILINGUAL = {
    "m2m100_418M": Multilingual(listed=True, n_pieces=128_004, unused=8),
    "nllb-200-distilled-600M": Multilingual(listed=False, n_pieces=256_001, unused=3),
}


def write_multilingual(
    folder: Path, kind: Multilingual, sizes: Sequence[int], n_fitted: int, pair: tuple[str, str]
) -> Foreign:
    """Write a model of M2M-100's or NLLB's kind as `transformers` does; `pair`: language tokens."""
    folder.mkdir(parents=True)
    shape = kind.shape
    pieces = invented_pieces(kind.n_pieces - len(SPECIAL))
    (folder / PIECES_FILE).write_bytes(piece_model(pieces))
    source_id, target_id = (kind.n_pieces + kind.languages.index(token) for token in pair)
    sources = sources_of_pieces(sizes, range(len(SPECIAL), kind.n_pieces), (source_id,), (2,))

    def prepare(model: Transformer) -> None:
        model.decoder.norm.bias.fill_(SHIFT)  # type: ignore[operator]

    model, seen = fitted(shape, sources, n_fitted, target_id, prepare)
    write_tensors(folder / "model.safetensors", dict(_huggingface_weights(model)))
    files: dict[str, Mapping[str, object]] = {
        "config.json": {
            "model_type": "m2m_100",
            "architectures": ["M2M100ForConditionalGeneration"],
            "vocab_size": shape.source_vocab_size,
            "d_model": kind.d_model,
            "encoder_layers": kind.n_layers,
            "decoder_layers": kind.n_layers,
            "encoder_ffn_dim": kind.d_ff,
            "decoder_ffn_dim": kind.d_ff,
            "encoder_attention_heads": kind.n_heads,
            "decoder_attention_heads": kind.n_heads,
            "max_position_embeddings": shape.max_length,
            "scale_embedding": True,
            "activation_function": "relu",
            "is_encoder_decoder": True,
            "tie_word_embeddings": True,
            "bos_token_id": 0,
            "pad_token_id": shape.pad_id,
            "eos_token_id": shape.eos_id,
            "decoder_start_token_id": shape.start_id,
        },
        "generation_config.json": {
            "num_beams": BEAM,
            "early_stopping": True,
            "max_length": 200,
            "bos_token_id": 0,
            "pad_token_id": shape.pad_id,
            "eos_token_id": shape.eos_id,
            "decoder_start_token_id": shape.start_id,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "M2M100Tokenizer" if kind.listed else "NllbTokenizer"
        },
    }
    if kind.listed:
        listed = (*SPECIAL, *pieces)
        files["vocab.json"] = {piece: index for index, piece in enumerate(listed)}
    else:
        files["special_tokens_map.json"] = {"additional_special_tokens": list(NLLB_LIST)}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return Foreign(folder, sources, seen)


def _huggingface_weights(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    weights = dict(model.named_parameters())
    names = huggingface_names
    for pairs in (names.layer_names(model.config), names.final_norm_names(model.config)):
        yield from ((theirs, weights[ours].detach()) for ours, theirs in pairs)
    yield names.SHARED, weights["source_embedding.weight"].detach()
