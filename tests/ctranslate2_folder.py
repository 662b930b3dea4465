"""Small random models in CTranslate2's format, of every kind that its converters write."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec

from model.transformer.positions import sinusoidal_positions
from tests.marian_folder import SOURCE_WORDS, TARGET_WORDS, learn_pieces, pieces_of

D_MODEL, HEADS = 32, 4
ACTIVATIONS = common_spec.Activation
PIECES = learn_pieces(f"{SOURCE_WORDS} {TARGET_WORDS}", 90)
WORDS = pieces_of(PIECES)


class Family(NamedTuple):
    """The files that a converter writes for a kind of model.

    special         tokens before the words; `behind` follow them
    layout, offset  of its position table; none: CTranslate2 computes one
    end             the logit of `</s>`, so that translations have natural lengths
    """

    special: Sequence[str] = ("<unk>", "<blank>", "<s>", "</s>")
    behind: Sequence[str] = ()
    pre_norm: bool = True
    activation: int = ACTIVATIONS.RELU
    layout: Any = "interleaved"
    offset: int = 0
    scale: Any = True
    start_from_zero: bool = False
    shared: bool = True
    tied: bool = True
    projection_bias: bool = True
    biases: bool = True
    layers: tuple[int, int] = (2, 1)
    config: Mapping[str, Any] = {}
    end: float = 2.0


MARIAN = Family(
    special=("</s>", "<unk>"), pre_norm=False, activation=ACTIVATIONS.SWISH, layout="halves",
    start_from_zero=True, scale=math.sqrt(D_MODEL), end=3.8,
    config={"decoder_start_token": "</s>"},
)  # fmt: skip
M2M100 = Family(
    special=("<s>", "<pad>", "</s>", "<unk>"), behind=("__en__", "__fr__", "__de__", "madeupword0"),
    layout="marian", offset=2, scale=math.sqrt(D_MODEL), projection_bias=False, end=8,
    config={"decoder_start_token": "</s>"},
)  # fmt: skip
FAMILIES: dict[str, Family] = {
    "opennmt-py": Family(end=4.4),
    "opennmt-py, untied": Family(shared=False, tied=False, activation=ACTIVATIONS.GELU, end=1.4),
    "eole, quickmt": Family(shared=False, biases=False, layers=(3, 1), end=0.4),
    "opennmt-tf": Family(
        special=("<blank>", "<s>", "</s>"),
        behind=("<unk>",),
        layout=None,
        end=1.7,
        config={"add_source_bos": True, "add_source_eos": True, "layer_norm_epsilon": 1e-6},
    ),
    "marian": MARIAN,
    "marian, relu": MARIAN._replace(activation=ACTIVATIONS.RELU, tied=False, end=7),
    "m2m100": M2M100,
    "nllb": M2M100._replace(behind=("eng_Latn", "fra_Latn", "deu_Latn", "<mask>")),
    "fairseq": Family(
        special=("<s>", "<blank>", "</s>", "<unk>"),
        pre_norm=False,
        layout="marian",
        offset=2,
        scale=math.sqrt(D_MODEL),
        projection_bias=False,
        end=15,
        config={"decoder_start_token": "</s>", "add_source_eos": True},
    ),
    "quick gelu, unscaled": Family(activation=ACTIVATIONS.GELUSigmoid, scale=1.0, end=4.2),
}


def random_spec(family: Family, seed: int = 0, **options: Any) -> TransformerSpec:
    """A specification with random weights whose translations end."""
    generate = np.random.default_rng(seed)
    spec = TransformerSpec.from_config(
        family.layers, HEADS, pre_norm=family.pre_norm,
        activation=common_spec.Activation(family.activation), **options,
    )  # fmt: skip
    tokens = [*family.special, *WORDS, *family.behind]
    targets = tokens if family.shared else [*tokens, "▁zzz"]

    def normal(*shape: int, scale: float = 0.3) -> Any:
        return (scale * generate.standard_normal(shape)).astype(np.float32)

    def fill(linear: Any, n_in: int, n_out: int, *, bias: bool = family.biases) -> None:
        linear.weight = normal(n_out, n_in)
        if bias:
            linear.bias = normal(n_out, scale=0.1)

    def fill_norm(norm: Any) -> None:
        norm.gamma, norm.beta = 1 + normal(D_MODEL), normal(D_MODEL)

    # Positions outweigh tokens, so that translations do not repeat one token endlessly.
    source = normal(len(tokens), D_MODEL, scale=0.15)
    target = source if family.shared else normal(len(targets), D_MODEL, scale=0.15)
    for side, table, inner in ((spec.encoder, source, 48), (spec.decoder, target, 40)):
        embedding = side.embeddings[0] if side is spec.encoder else side.embeddings
        embedding.weight = table
        side.scale_embeddings = family.scale
        if family.layout:
            side.position_encodings.encodings = sinusoidal_positions(
                300, D_MODEL, family.layout, family.offset
            )
        for layer in side.layer:
            fill(layer.self_attention.linear[0], D_MODEL, 3 * D_MODEL)
            fill(layer.self_attention.linear[1], D_MODEL, D_MODEL)
            fill_norm(layer.self_attention.layer_norm)
            if side is spec.decoder:
                for linear, n_out in zip(layer.attention.linear, (1, 2, 1), strict=True):
                    fill(linear, D_MODEL, n_out * D_MODEL)
                fill_norm(layer.attention.layer_norm)
            fill(layer.ffn.linear_0, D_MODEL, inner, bias=True)
            fill(layer.ffn.linear_1, inner, D_MODEL)
            fill_norm(layer.ffn.layer_norm)
        if family.pre_norm and hasattr(side, "layer_norm"):
            fill_norm(side.layer_norm)
    spec.decoder.start_from_zero_embedding = family.start_from_zero
    spec.decoder.projection.weight = target if family.tied else normal(len(targets), D_MODEL)
    end = targets.index("</s>")
    if family.projection_bias:
        spec.decoder.projection.bias = normal(len(targets), scale=0.1)
        spec.decoder.projection.bias[end] += family.end
    else:
        last = spec.decoder if family.pre_norm else spec.decoder.layer[-1].ffn
        shift = last.layer_norm.beta
        target[end] = family.end * shift / (shift @ shift)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(targets)
    for key, value in family.config.items():
        setattr(spec.config, key, value)
    return spec


def write_folder(
    folder: Path,
    family: Family,
    quantization: str | None = None,
    *,
    positions: Any = None,
    **options: Any,
) -> Path:
    """Write a folder as a converter does, with the SentencePiece models of its tokens.

    positions  the table of both sides
    """
    folder.mkdir(parents=True)
    spec = random_spec(family, **options)
    if positions is not None:
        for side in (spec.encoder, spec.decoder):
            side.position_encodings.encodings = positions
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    name = "sentencepiece.bpe.model" if "<pad>" in family.special else "sentencepiece.model"
    (folder / name).write_bytes(PIECES)
    return folder


def with_side(spec: TransformerSpec, side: Any) -> None:
    """Replace a side by one with other options; weights that it lacks are filled with ones."""
    name = "encoder" if hasattr(side, "embeddings_merge") else "decoder"
    given: dict[str, Any] = {}
    getattr(spec, name)._visit(lambda _, path, value: given.update({path: value}))

    def fill(layer: Any, path: str, value: Any) -> None:
        if value is None:
            ones = np.ones((5, D_MODEL), np.float32)
            found = given.get(path.replace("embeddings_1", "embeddings_0"), ones)
            setattr(layer, path.rpartition("/")[2], found)

    side._visit(fill)
    setattr(spec, name, side)
    if name == "encoder":
        for _ in side.embeddings[1:]:
            spec.register_source_vocabulary(spec._vocabularies["source"][0])
    spec.validate()
