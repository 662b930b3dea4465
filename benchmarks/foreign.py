"""Random models in the formats of M2M-100 and NLLB, fitted as in `benchmarks.natural`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from benchmarks.natural import fit_end, sources_of_pieces
from benchmarks.system import Ids
from model.checkpoint.tensor_writer import write_tensors
from model.interop.huggingface import key_map as huggingface_names
from model.interop.m2m100.languages import M2M100_LISTS, NLLB_LIST
from model.text.multilingual_tokenizer import PIECES_FILE, SPECIAL
from model.transformer.config import TransformerConfig
from model.transformer.transformer import Transformer

SHIFT = 0.1
"""Shift of the final LayerNorm, which `fit_end` uses because the output has no bias."""
BEAM = 4


def invented_pieces(n: int) -> list[str]:
    """Return n distinct words of random letters."""
    choose = random.Random(3)
    found: dict[str, None] = {}
    while len(found) < n:
        letters = choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randint(3, 8))
        found["▁" + "".join(letters)] = None
    return list(found)


def piece_model(pieces: Sequence[str]) -> bytes:
    """Return a SentencePiece model (BPE) of three control symbols and these pieces."""
    proto = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    proto.trainer_spec.model_type = proto.trainer_spec.BPE
    proto.normalizer_spec.name = "identity"
    for name, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):  # UNKNOWN, CONTROL
        proto.pieces.add(piece=name, score=0, type=kind)
    for index, piece in enumerate(pieces):
        proto.pieces.add(piece=piece, score=-float(index))
    content: bytes = proto.SerializeToString()
    return content


@dataclass(frozen=True)
class Multilingual:
    """The shape of a multilingual model.

    listed  whether vocab.json defines the ids of pieces (M2M-100) or the SentencePiece model (NLLB)
    unused  ids after the languages
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
) -> list[Ids]:
    """Write a model as `transformers` does → random sources of these sizes.

    n_fitted  number of sources that its lengths are fitted to
    pair      tokens of the source and target language
    """
    folder.mkdir(parents=True)
    shape = kind.shape
    pieces = invented_pieces(kind.n_pieces - len(SPECIAL))
    (folder / PIECES_FILE).write_bytes(piece_model(pieces))
    source_id, target_id = (kind.n_pieces + kind.languages.index(token) for token in pair)
    sources = sources_of_pieces(sizes, range(len(SPECIAL), kind.n_pieces), (source_id,), (2,))
    torch.manual_seed(1)
    model = Transformer(shape).eval()
    with torch.no_grad():
        model.decoder.norm.bias.fill_(SHIFT)  # type: ignore[operator]
    fit_end(model, sources[:n_fitted], target_id)
    write_tensors(folder / "model.safetensors", dict(_huggingface_weights(model)))
    special_ids = {
        "bos_token_id": 0,
        "pad_token_id": shape.pad_id,
        "eos_token_id": shape.eos_id,
        "decoder_start_token_id": shape.start_id,
    }
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
            **special_ids,
        },
        "generation_config.json": {
            "num_beams": BEAM,
            "early_stopping": True,
            "max_length": 200,
            **special_ids,
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
    return sources


def _huggingface_weights(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    weights = dict(model.named_parameters())
    names = huggingface_names
    for pairs in (names.layer_names(model.config), names.final_norm_names(model.config)):
        yield from ((theirs, weights[ours].detach()) for ours, theirs in pairs)
    yield names.SHARED, weights["source_embedding.weight"].detach()
