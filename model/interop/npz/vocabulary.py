"""Converts the vocabulary files of Marian's npz format to those of its Hugging Face format.

A piece's id is in vocab.yml, or is its index in a SentencePiece model that Marian reads directly.
Marian has no `<pad>`; it gets the first id that neither side uses.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from model.checkpoint.config import read_file
from model.errors import CheckpointError
from model.interop.npz.options import DECODER_FILE
from model.text.marian_tokenizer import (
    PAD,
    SOURCE_PIECES_FILE,
    TARGET_PIECES_FILE,
    TARGET_VOCABULARY_FILE,
    VOCABULARY_FILE,
)
from model.text.sentence_pieces import SentencePieces

# Scalars stay strings, as pieces such as `yes` or `1.0` must; no code is executed.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_vocabularies(folder: Path, named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Read the pieces of source and target in the order of ids. Raises `CheckpointError`."""
    source, target = _vocabulary_files(folder, named)
    source_pieces = _read_pieces(source)
    return source_pieces, source_pieces if target == source else _read_pieces(target)


def vocabulary_files(models: Sequence[bytes], pieces: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """Return the files of a `MarianTokenizer`: SentencePiece models and pieces of both sides."""
    pad_id = min(map(len, pieces))
    files = {
        SOURCE_PIECES_FILE: models[0],
        TARGET_PIECES_FILE: models[1],
        VOCABULARY_FILE: _json(pieces[0], pad_id),
    }
    if pieces[0] != pieces[1]:
        files[TARGET_VOCABULARY_FILE] = _json(pieces[1], pad_id)
    return files


def _json(pieces: Sequence[str], pad_id: int) -> bytes:
    padded = [*pieces[:pad_id], PAD, *pieces[pad_id:]]
    ids = {piece: index for index, piece in enumerate(padded)}
    return json.dumps(ids, ensure_ascii=False, indent=0).encode()


def _vocabulary_files(folder: Path, named: Sequence[str]) -> tuple[Path, Path]:
    """Find the files that the options name, if they exist, else by their usual names."""
    if len(named) == 2 and all((folder / name).exists() for name in named):
        return folder / named[0], folder / named[1]
    found = sorted(
        path
        for path in folder.iterdir()
        if path.suffix in (".yml", ".yaml", ".json") and "vocab" in path.name
    )
    if len(found) == 1:
        return found[0], found[0]
    sides = [[p for p in found if f"{side}." in p.name] for side in ("src", "trg")]
    if len(found) == 2 and all(len(side) == 1 for side in sides):
        return sides[0][0], sides[1][0]
    listed = ", ".join(path.name for path in found) or "none"
    raise CheckpointError(
        f"{folder}: the vocabulary is ambiguous. Found: {listed}; expected one vocab.yml, or those "
        f"that {DECODER_FILE} names under 'vocabs'"
    )


def sentencepiece_files(folder: Path) -> tuple[Path, Path]:
    """Find the models of both sides. Raises `CheckpointError`."""
    pair = folder / SOURCE_PIECES_FILE, folder / TARGET_PIECES_FILE
    if all(path.exists() for path in pair):
        return pair
    found = sorted(folder.glob("*.spm"))
    if len(found) != 1:
        listed = ", ".join(path.name for path in found) or "none"
        raise CheckpointError(
            f"{folder}: the SentencePiece model is ambiguous. Found: {listed}; "
            f"expected {SOURCE_PIECES_FILE} and {TARGET_PIECES_FILE}, or one *.spm for both"
        )
    return found[0], found[0]


def indexed_pieces(spm: bytes, path: Path) -> list[str]:
    """Return the pieces of a SentencePiece model by their indices."""
    processor = SentencePieces(spm, str(path)).processor
    return [processor.id_to_piece(index) for index in range(processor.vocab_size())]


def _read_pieces(path: Path) -> list[str]:
    content = read_file(path)
    if path.suffix == ".spm":
        return indexed_pieces(content, path)
    try:
        ids = yaml.load(content, Loader=_LOADER)  # noqa: S506  (it makes strings and nothing else)
        numbered = {int(index): str(piece) for piece, index in ids.items()}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{path}: not a vocabulary of pieces and ids: {reason}") from None
    if len(numbered) != len(ids) or sorted(numbered) != list(range(len(ids))):
        raise CheckpointError(f"{path}: ids must be 0 … {len(ids) - 1}, each once")
    if PAD in ids:
        raise CheckpointError(f"{path}: contains {PAD}, which Marian does not support")
    return [numbered[index] for index in range(len(ids))]
