"""Reads a folder with a model of Firefox's: model.*.bin, vocab.*.spm or srcvocab and trgvocab."""

import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.config import read_file
from model.checkpoint.shortlist_file import has_checksum, read_shortlist
from model.checkpoint.tensor_file import Quantized, scale_name
from model.decoding.rules import MarianRule
from model.errors import CheckpointError, damaged
from model.interop.foreign_model import ForeignModel, check_tensors
from model.interop.languages import Languages
from model.interop.marian_folder import firefox_models
from model.interop.npz import network
from model.interop.npz.binary_format import Item, read_binary
from model.interop.npz.network import PAD_LOGIT, embedding_names, network_shape, with_pad
from model.interop.npz.options import model_options, read_yaml
from model.interop.npz.vocabulary import indexed_pieces, vocabulary_files
from model.text.language_codes import standard_code
from model.text.marian_tokenizer import MarianTokenizer
from model.transformer.config import TransformerConfig

METADATA_FILE = "metadata.json"
MAX_MODEL_BYTES = 500_000_000
_MAX_LENGTH = 128
"""`max-length-break` of Firefox's engine, in tokens with `</s>`; the models saw no longer ones."""

_MAX_LENGTH_FACTOR = 2.0
_BEAM_SIZE = 1
_ALPHA = "_QuantMultA"
"""Ends the names of static multipliers of activations, which attend measures for each row."""


def read_firefox(folder: Path, languages: Languages) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`."""
    found = firefox_models(folder)
    if len(found) != 1:
        listed = ", ".join(path.name for path in found) or "none"
        raise CheckpointError(
            f"{folder}: expected one model.LANGUAGES.intgemm.alphas.bin, found: {listed}"
        )
    path = found[0]
    model = read_binary(read_unpacked(path), str(path))
    options = model_options(read_yaml(model.options, f"{path}: options"), str(path))
    items = {name: item for name, item in model.items.items() if not name.endswith(_ALPHA)}
    share = network.EMBEDDING in items
    sides = [(side, read_unpacked(side)) for side in _vocabularies(folder)]
    pieces = [indexed_pieces(model, side) for side, model in sides]
    files = vocabulary_files([model for _, model in sides], pieces)
    tokenizer = MarianTokenizer(files, {}, str(folder))
    if not options.tie_output:
        raise CheckpointError(f"{path}: attend cannot run this model: untied output embeddings")
    # A target may be twice as long as its source.
    length = int(_MAX_LENGTH_FACTOR * _MAX_LENGTH)
    shape = network_shape(str(path), options, tokenizer, max_length=length, share=share)
    weights = _weights(path, items, shape)
    sizes = tokenizer.source_vocab_size - 1, tokenizer.target_vocab_size - 1  # without <pad>
    check_tensors(path, shape, weights)
    return ForeignModel(
        project="Firefox",
        origin="Marian's binary format",
        directions=[_direction(folder, path, languages)],
        beam_size=_BEAM_SIZE,
        length_penalty=1.0,
        rule=MarianRule(tokenizer.target_unk_id, _MAX_LENGTH_FACTOR),
        shape=shape,
        weights=weights,
        tokenizer=tokenizer,
        # The head that guided alignment trained: `transformer-guided-alignment-layer: last`.
        alignment=AlignmentMethod(head=0),
        shortlist=_shortlist(folder, *sizes, is_shared=share),
    )


def _shortlist(folder: Path, n_source: int, n_target: int, *, is_shared: bool) -> bytes | None:
    """Return the content of lex.*.bin, checked; None if there is none."""
    paths = sorted(path for end in ("", ".gz") for path in folder.glob(f"lex.*.bin{end}"))
    if not paths:
        return None
    if len(paths) > 1:
        raise CheckpointError(f"{folder}: several shortlists: {', '.join(p.name for p in paths)}")
    [path] = paths
    content = read_unpacked(path)
    read_shortlist(content, str(path), n_source=n_source, n_target=n_target, is_shared=is_shared)
    if not has_checksum(content):
        raise CheckpointError(
            f"{path}: damaged: its checksum is wrong; the model can be imported without this file"
        )
    return content


def read_unpacked(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is gzipped. Raises `CheckpointError`."""
    if path.suffix != ".gz":
        return read_file(path)
    packed = read_file(path)
    try:
        with gzip.open(io.BytesIO(packed)) as file:
            content = file.read(MAX_MODEL_BYTES + 1)
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        raise damaged(path, packed, f"not gzip: {error}") from None
    if len(content) > MAX_MODEL_BYTES:
        raise CheckpointError(f"{path}: unpacks to more than {MAX_MODEL_BYTES:,} bytes")
    return content


def _vocabularies(folder: Path) -> tuple[Path, Path]:
    """Return the vocabulary of each side: one file for both, or one each."""
    both, source, target = (
        sorted(path for end in ("", ".gz") for path in folder.glob(f"{kind}.*spm{end}"))
        for kind in ("vocab", "srcvocab", "trgvocab")
    )
    if len(both) == 1 and not (source or target):
        return both[0], both[0]
    if len(source) == len(target) == 1 and not both:
        return source[0], target[0]
    listed = ", ".join(path.name for path in (*both, *source, *target)) or "none"
    raise CheckpointError(
        f"{folder}: expected vocab.LANGUAGES.spm, or srcvocab.LANGUAGES.spm and "
        f"trgvocab.LANGUAGES.spm, found: {listed}"
    )


def _direction(folder: Path, model: Path, languages: Languages) -> tuple[str, str]:
    """Return the pair as given, as in the metadata, or as in the name of the model's file."""
    given = (*languages.sources, *languages.targets)
    if given:
        if len(languages.sources) != 1 or len(languages.targets) != 1:
            raise CheckpointError(f"{folder}: a model of Firefox's has one source and one target")
        return standard_code(given[0]), standard_code(given[1])
    metadata = _metadata(folder)
    named = metadata.get("sourceLanguage"), metadata.get("targetLanguage")
    if isinstance(named[0], str) and isinstance(named[1], str):
        return standard_code(named[0]), standard_code(named[1])
    letters = model.name.split(".")[1]
    if len(letters) != 4:  # such as enfr
        raise CheckpointError(
            f"{model}: its name does not tell the languages apart; use `attend import firefox "
            f"--source CODE --target CODE`"
        )
    return standard_code(letters[:2]), standard_code(letters[2:])


def _metadata(folder: Path) -> Mapping[str, Any]:
    path = folder / METADATA_FILE
    if not path.exists():
        return {}
    try:
        values = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    return values if isinstance(values, dict) else {}


def _weights(path: Path, items: dict[str, Item], shape: TransformerConfig) -> dict[str, Tensor]:
    """Return tensors with a row for `<pad>`; 8-bit matrices keep their codes and their scale."""
    matrices = dict(network.matrix_names(shape))
    source, target = embedding_names(shape.share_embeddings)
    embeddings = {"source_embedding.weight": source}
    if not shape.share_embeddings:
        embeddings["target_embedding.weight"] = target
    vectors = dict(network.vector_names(shape)) | {"output.bias": network.OUTPUT_BIAS}
    expected = {*matrices.values(), *embeddings.values(), *vectors.values()}
    if missing := sorted(expected - items.keys()):
        raise CheckpointError(f"{path}: missing items {', '.join(map(repr, missing[:3]))}")
    if unknown := sorted(items.keys() - expected):
        raise CheckpointError(f"{path}: unknown items {', '.join(map(repr, unknown[:3]))}")
    weights: dict[str, Tensor] = {}
    for ours, theirs in (matrices | embeddings).items():
        weights |= _matrix(ours, items[theirs], is_embedding=ours in embeddings)
    for ours, theirs in vectors.items():
        item = items[theirs]
        if isinstance(item, Quantized):
            raise CheckpointError(f"{path}: '{theirs}' is quantised; expected float32")
        weights[ours] = torch.from_numpy(item).flatten()
    for name in embeddings:
        weights[name] = with_pad(weights[name], shape.pad_id, 0)
    weights["output.bias"] = with_pad(weights["output.bias"], shape.pad_id, PAD_LOGIT)
    return weights


def _matrix(name: str, item: Item, *, is_embedding: bool) -> dict[str, Tensor]:
    if isinstance(item, Quantized):
        scale = torch.tensor([item.scale], dtype=torch.float32)
        return {name: torch.from_numpy(item.codes), scale_name(name): scale}
    values = item if is_embedding else np.ascontiguousarray(item.T)
    return {name: torch.from_numpy(values)}
