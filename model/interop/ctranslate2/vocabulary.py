"""The vocabularies of a CTranslate2 folder: lists of tokens by id, as JSON or as lines."""

import json
from pathlib import Path

from model.checkpoint.config import read_file
from model.errors import CheckpointError
from model.text.marian_tokenizer import SOURCE_PIECES_FILE, TARGET_PIECES_FILE
from model.text.multilingual_tokenizer import PIECES_FILE


def read_vocabularies(folder: Path, unknown: str) -> tuple[list[str], list[str]]:
    """Return the tokens of source and target by id; `unknown` is appended where it is missing.

    Raises `CheckpointError`.
    """
    if _find(folder, "source_1_vocabulary"):
        raise CheckpointError(f"{folder}: attend cannot run this model: several source features")
    shared = _find(folder, "shared_vocabulary")
    source = shared or _find(folder, "source_vocabulary")
    target = shared or _find(folder, "target_vocabulary")
    if source is None or target is None:
        raise CheckpointError(
            f"{folder}: no vocabulary; expected shared_vocabulary.json, or source_vocabulary.json "
            "and target_vocabulary.json (.txt of older versions)"
        )
    tokens = _read(source, unknown)
    return tokens, tokens if source == target else _read(target, unknown)


def find_piece_files(folder: Path) -> tuple[Path, Path]:
    """Find the SentencePiece models of source and target. Raises `CheckpointError`."""
    found = sorted(path for end in ("*.spm", "*.model") for path in folder.glob(end))
    if len(found) == 1:
        return found[0], found[0]
    sides = [
        [path for path in found if path.name.startswith(prefixes)]
        for prefixes in (("source", "src"), ("target", "tgt", "trg"))
    ]
    if [len(side) for side in sides] == [1, 1]:
        return sides[0][0], sides[1][0]
    listed = ", ".join(path.name for path in found) or "none"
    raise CheckpointError(
        f"{folder}: a CTranslate2 folder does not contain what splits text into tokens; copy the "
        f"SentencePiece models of the original model into it, {SOURCE_PIECES_FILE} and "
        f"{TARGET_PIECES_FILE}, one *.model for both sides, or {PIECES_FILE} of M2M-100 or NLLB. "
        f"Found: {listed}"
    )


def _find(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}.json", folder / f"{name}.txt")
    return next((path for path in paths if path.exists()), None)


def _read(path: Path, unknown: str) -> list[str]:
    written = read_file(path)
    if path.suffix == ".json":
        try:
            tokens: list[str] = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{path}: not JSON: {error}") from None
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise CheckpointError(f"{path}: not a list of tokens")
    else:
        try:
            tokens = written.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise CheckpointError(f"{path}: not UTF-8") from None
        if all(token.endswith("\r") for token in tokens):
            tokens = [token[:-1] for token in tokens]
    if unknown not in tokens:
        tokens.append(unknown)
    ids: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if ids.setdefault(token, index) != index:
            raise CheckpointError(f"{path}: {token!r} has the ids {ids[token]} and {index}")
    return tokens
