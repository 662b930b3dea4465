"""Decoding speed of multilingual models, compared with CTranslate2's own conversion.

python -m benchmarks.imported nllb-200-distilled-600M

The models have random weights and the real shapes, and end their sentences by themselves, fitted
as in `benchmarks.natural`.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from benchmarks.checkpoints import made
from benchmarks.decode import COLUMNS, NOTES, Batches, batch_options
from benchmarks.natural import fit_end, lengths_of_sentences, sources_of_pieces
from benchmarks.options import benchmark, json_option, rounds_option, threads_option, work_option
from benchmarks.peers import BEYOND_SOURCE, CTranslate2
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.system import Attend, Ids, System
from model.checkpoint.reader import load_checkpoint
from model.checkpoint.writer import write_tensors
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.interop.huggingface import marian_weights as huggingface_names
from model.interop.m2m100.languages import LISTS
from model.interop.marian_import import import_m2m100
from model.text.multilingual_tokenizer import PIECES_FILE, SPECIAL
from model.transformer.config import TransformerConfig
from model.transformer.transformer import Transformer

TARGET = "fr"
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
        listed = [f"__{code}__" for code in LISTS["m2m100"]]
        return listed if self.listed else list(LISTS["nllb"])

    @property
    def shape(self) -> TransformerConfig:
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
        "bos_token_id": 0, "pad_token_id": shape.pad_id, "eos_token_id": shape.eos_id,
        "decoder_start_token_id": shape.start_id,
    }  # fmt: skip
    sizes_of_layers = {
        f"{stack}_{size}": value
        for stack in ("encoder", "decoder")
        for size, value in (
            ("layers", kind.n_layers), ("ffn_dim", kind.d_ff), ("attention_heads", kind.n_heads)
        )
    }  # fmt: skip
    files: dict[str, Mapping[str, object]] = {
        "config.json": {
            "model_type": "m2m_100", "architectures": ["M2M100ForConditionalGeneration"],
            "vocab_size": shape.source_vocab_size, "d_model": kind.d_model,
            "max_position_embeddings": shape.max_length, "scale_embedding": True,
            "activation_function": "relu", "is_encoder_decoder": True,
            "tie_word_embeddings": True, **sizes_of_layers, **special_ids,
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
    }  # fmt: skip
    if kind.listed:
        listed = (*SPECIAL, *pieces)
        files["vocab.json"] = {piece: index for index, piece in enumerate(listed)}
    else:
        files["special_tokens_map.json"] = {"additional_special_tokens": list(LISTS["nllb"])}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return sources


def _huggingface_weights(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    weights = dict(model.named_parameters())
    names = huggingface_names
    for pairs in (names.layer_names(model.config), names.final_norm_names(model.config)):
        yield from ((theirs, weights[ours].detach()) for ours, theirs in pairs)
    yield names.SHARED, weights["source_embedding.weight"].detach()


def written(name: str, kind: Multilingual, n: int, n_fitted: int, work: Path) -> Path:
    """Write the model, its import as `ours`, and its sources, once → their folder."""
    sizes = lengths_of_sentences(read_sentences(FIXTURE, n))
    pair = ("__en__", "__fr__") if kind.listed else ("eng_Latn", "fra_Latn")

    def write(folder: Path) -> None:
        sources = write_multilingual(folder / "theirs", kind, sizes, n_fitted, pair)
        import_m2m100(folder / "theirs", folder / "ours", name)
        (folder / "sources.json").write_text(json.dumps(sources), "utf-8")

    return made(work / f"imported-{name}", write)


def ctranslate2_peers(folder: Path, threads: int) -> Sequence[CTranslate2]:
    """Return CTranslate2 in int8: one thread for single sentences, one worker per thread else."""
    from ctranslate2.converters import TransformersConverter

    def write(destination: Path) -> None:
        converter = TransformersConverter(str(folder / "theirs"))
        converter.convert(str(destination), quantization="int8")

    model = made(folder / "ctranslate2", write)
    # Without a tokenizer.json, the converter names languages in its own way.
    pieces = json.loads((model / "shared_vocabulary.json").read_text("utf-8"))
    return [
        CTranslate2(model, pieces, "int8", inter_threads=workers, intra_threads=1)
        for workers in sorted({1, threads})
    ]


@benchmark
@click.argument("name", metavar="MODEL", type=click.Choice(list(MULTILINGUAL)))
@batch_options
@click.option("--fitted", type=click.IntRange(8), default=96, help="Sentences to fit lengths.")
@rounds_option(3)
@threads_option
@work_option
@json_option
def main(
    *,
    name: str,
    batches: Batches,
    fitted: int,
    rounds: int,
    threads: int,
    work: Path,
    json_file: Path | None,
) -> None:
    """Compare attend's int8 with CTranslate2's."""
    n = max(batches.most(threads), 2 * fitted)
    folder = written(name, MULTILINGUAL[name], n, fitted, work)
    checkpoint = load_checkpoint(folder / "ours")
    sources: list[Ids] = [tuple(ids) for ids in json.loads((folder / "sources.json").read_text())]
    systems: list[System] = [Attend(build_engines(checkpoint, "int8", threads))]
    systems += ctranslate2_peers(folder, threads)
    options = SearchOptions(
        length_penalty=checkpoint.config.length_penalty,
        rule=checkpoint.config.search_rule,
        max_target_tokens=max(map(len, sources)) + BEYOND_SOURCE,
        first_id=checkpoint.tokenizer.first_id(TARGET),
    )
    rows = list(batches.rows(systems, sources, options, rounds, threads))
    settings: dict[str, Cell] = {**batches.settings, "rounds": rounds, "threads": threads}
    title = f"Decoding, imported: {checkpoint.config.name}, natural lengths"
    publish(Report("imported", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
