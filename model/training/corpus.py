"""Parallel text on disk: tab-separated pairs, plain or compressed with xz or gzip."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from model.errors import DataError


def _open(path: Path) -> IO[str]:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8", newline="\n")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


def read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """The two columns of every line. Raises `DataError` with file and line."""
    number = 0
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, start=1):
                columns = line.rstrip("\r\n").split("\t")
                if len(columns) != 2:
                    raise DataError(
                        f"{path}:{number}: {len(columns)} tab-separated columns, expected 2"
                    )
                yield columns[0], columns[1]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number + 1}: not UTF-8 ({error.reason})") from None
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DataError(f"{path}: {reason}") from None


def load_pairs(paths: list[Path]) -> list[tuple[str, str]]:
    """All pairs of all files with text on both sides. Raises `DataError` if none is left."""
    pairs = [pair for path in paths for pair in read_pairs(path) if pair[0] and pair[1]]
    if not pairs:
        raise DataError(f"{', '.join(map(str, paths))}: no pairs")
    return pairs
