"""Parallel text on disk: tab-separated pairs in UTF-8, plain or compressed with xz or gzip."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import IO

from model.errors import DataError


def read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the two columns of each line. Raises `DataError` with file and line."""
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise DataError(f"{path}:{number}: {len(columns)} tab-separated columns, expected 2")
        yield columns[0], columns[1]


def read_parallel(first: Path, second: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of two files in parallel. Raises `DataError`, also if one is shorter."""
    for number, pair in enumerate(zip_longest(read_lines(first), read_lines(second)), start=1):
        for path, line in zip((first, second), pair, strict=True):
            if line is None:
                raise DataError(f"{path}: ends before line {number} of the other file")
        yield pair


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines without line ends. Raises `DataError` with file and line."""
    number = 0
    try:
        with _open(path) as lines:
            # Decoded line by line: a text stream reports a bad byte relative to its buffer.
            for line in lines:
                number += 1
                yield line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: not UTF-8 ({error.reason})") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DataError(f"{path}: {reason}, after line {number}") from None


def load_pairs(paths: list[Path]) -> list[tuple[str, str]]:
    """Return all pairs with text on both sides. Raises `DataError` if there are none."""
    pairs = [pair for path in paths for pair in read_pairs(path) if pair[0] and pair[1]]
    if not pairs:
        raise DataError(f"{', '.join(map(str, paths))}: no pairs")
    return pairs


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return gzip.open(path)
    return path.open("rb")
