"""Reads a folder in Marian's own format: *.npz, vocab.yml, *.spm, decoder.yml."""

import zipfile
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.checkpoint.config import read_file
from model.decoding.rules import MarianRule
from model.errors import CheckpointError
from model.interop.foreign_model import ForeignModel, check_tensors
from model.interop.huggingface.marian_weights import check_names
from model.interop.languages import Languages, directions
from model.interop.npz import network
from model.interop.npz.network import PAD_LOGIT, embedding_names, network_shape, with_pad
from model.interop.npz.options import (
    DECODER_FILE,
    ModelOptions,
    model_options,
    read_search,
    read_yaml,
)
from model.interop.npz.vocabulary import (
    read_vocabularies,
    sentencepiece_files,
    vocabulary_files,
)
from model.text.marian_tokenizer import MarianTokenizer
from model.transformer.config import TransformerConfig

_OPTIONS = "special:model.yml"
_MAX_LENGTH = 512
"""Size of attend's table of positions; Marian's are unlimited."""


def read_npz_folder(folder: Path, languages: Languages) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`."""
    search = read_search(folder)
    path = _model_file(folder, search.models)
    arrays = read_npz(path)
    if _OPTIONS not in arrays:
        raise CheckpointError(f"{path}: has no {_OPTIONS}; not a Marian model")
    text = arrays.pop(_OPTIONS).tobytes().rstrip(b"\0")
    options = model_options(read_yaml(text, f"{path}: {_OPTIONS}"), str(path))
    listed = read_vocabularies(folder, search.vocabularies or options.vocabularies)
    pieces = _embedded_pieces(path, arrays, options, listed)
    models = [read_file(path) for path in sentencepiece_files(folder)]
    files = vocabulary_files(models, pieces)
    pairs, symbols = directions(str(folder), pieces[0], languages)
    tokenizer = MarianTokenizer(files, symbols, str(folder))
    shape = network_shape(
        str(path), options, tokenizer, max_length=_MAX_LENGTH, share=options.share_embeddings
    )
    weights = _weights(path, arrays, shape)
    check_tensors(path, shape, weights)
    return ForeignModel(
        project="Marian",
        origin="Marian's own format",
        directions=pairs,
        beam_size=search.beam_size,
        length_penalty=search.length_penalty,
        rule=MarianRule(
            None if search.allow_unk else tokenizer.target_unk_id, search.max_length_factor
        ),
        shape=shape,
        weights=weights,
        tokenizer=tokenizer,
    )


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Read arrays by name, rejecting Python objects unread. Raises `CheckpointError`."""
    try:
        if not zipfile.is_zipfile(path):
            raise CheckpointError(f"{path}: damaged or not an npz file")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None
    except CheckpointError:
        raise
    except Exception as error:  # malicious or truncated files can cause any exception
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CheckpointError(f"{path}: damaged or not an npz file ({reason})") from None


def _model_file(folder: Path, named: tuple[str, ...]) -> Path:
    found = sorted(folder.glob("*.npz"))
    chosen = [path for path in found if path.name in named] or found
    if len(chosen) != 1:
        names = ", ".join(path.name for path in found)
        raise CheckpointError(
            f"{folder}: the model is ambiguous. Found: {names}; {DECODER_FILE} names none of them "
            "under 'models'"
        )
    return chosen[0]


def _embedded_pieces(
    path: Path,
    arrays: MutableMapping[str, NDArray[Any]],
    options: ModelOptions,
    pieces: tuple[list[str], list[str]],
) -> list[list[str]]:
    """Return the pieces with embeddings: the first ones of a longer file, as in Marian."""
    if options.share_embeddings and pieces[0] != pieces[1]:
        raise CheckpointError(f"{path}: shared embeddings, but two different vocabularies")
    kept = []
    for name, side in zip(embedding_names(options.share_embeddings), pieces, strict=True):
        n_rows = len(arrays[name]) if name in arrays and arrays[name].ndim else 0
        if not 0 < n_rows <= len(side):
            raise CheckpointError(
                f"{path}: the vocabulary has {len(side)} pieces, '{name}' {n_rows} rows"
            )
        kept.append(side[:n_rows])
    return kept


def _weights(
    path: Path, arrays: MutableMapping[str, NDArray[Any]], shape: TransformerConfig
) -> dict[str, Tensor]:
    """Return tensors with a row for `<pad>`, freeing each array once it is converted."""
    matrices = dict(network.matrix_names(shape))
    vectors = dict(network.vector_names(shape))
    source, target = embedding_names(shape.share_embeddings)
    outputs = () if shape.tie_output else (network.OUTPUT, network.OUTPUT_TRANSPOSED)
    required = [source, target, *matrices.values(), *vectors.values()]
    check_names(path, arrays, required, (*outputs, network.OUTPUT_BIAS))
    if outputs and not any(name in arrays for name in outputs):
        raise CheckpointError(f"{path}: missing tensors '{outputs[0]}'")

    def take(name: str) -> Tensor:
        array = arrays.pop(name)
        if array.dtype not in (np.float32, np.float16) or array.ndim != 2:
            raise CheckpointError(
                f"{path}: '{name}' is {array.dtype} of shape {list(array.shape)}, "
                "not a matrix of floating-point numbers"
            )
        return torch.from_numpy(array)

    weights = {ours: take(theirs).mT.contiguous() for ours, theirs in matrices.items()}
    weights |= {ours: take(theirs).flatten() for ours, theirs in vectors.items()}
    weights["source_embedding.weight"] = with_pad(take(source), shape.pad_id, 0.0)
    if not shape.share_embeddings:
        weights["target_embedding.weight"] = with_pad(take(target), shape.pad_id, 0.0)
    for name in outputs:
        if name in arrays:
            output = take(name)
            rows = output if name == network.OUTPUT else output.mT
            weights["output.weight"] = with_pad(rows, shape.pad_id, 0.0)
    if network.OUTPUT_BIAS in arrays:
        bias = take(network.OUTPUT_BIAS).flatten()
    else:
        bias = weights["source_embedding.weight"].new_zeros(shape.target_vocab_size - 1)
    weights["output.bias"] = with_pad(bias, shape.pad_id, PAD_LOGIT)
    return weights
