"""Corpora: their table in a recipe, and their parallel text on disk.

Text is UTF-8, plain or compressed with xz or gzip, in one of three forms: tab-separated pairs;
two files with a sentence per line (`train.en`, `train.fr`); JSON lines, whose objects have a text
per language, possibly under `translation` as in Hugging Face's datasets.
"""

import gzip
import json
import lzma
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import IO, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from model.errors import DataError, reason

_COMPRESSED = (".xz", ".gz")

Files = Path | tuple[Path, Path]
"""A file of pairs, or one file per language."""


class DataTable(BaseModel):
    """A table of a recipe: immutable; unknown keys are rejected, numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CorpusConfig(DataTable):
    """One parallel corpus: files, weight, origin and licence."""

    name: str
    files: list[Files] = Field(
        default_factory=list,
        description="tab-separated, JSON lines, or pairs of files; .xz and .gz are decompressed",
    )
    written_numbers: int = Field(
        0, ge=0, description="generated English-French sentences with numbers, instead of files"
    )
    languages: tuple[str, str] = Field(description="languages of the two columns")
    directions: list[tuple[str, str]] = Field(
        default_factory=list, description="directions that it is used in; empty: both"
    )
    tag: str = Field(
        "",
        pattern="^[a-z]*$",
        description="symbol before its sources, such as bt for back-translated text",
    )
    weight: float = Field(1.0, gt=0, description="share of the examples")
    origin: str = Field("", description="where to get it")
    licence: str = ""
    credit: str = Field("", description="credit that the licence requires; printed in the card")

    @property
    def all_directions(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.directions) or both_ways(self.languages)

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if bool(self.files) == bool(self.written_numbers):
            raise ValueError("give either files or written_numbers")
        if self.written_numbers and self.languages != ("en", "fr"):
            raise ValueError("written_numbers are English and French: languages = ['en', 'fr']")
        for source, target in frozenset(self.directions) - both_ways(self.languages):
            raise ValueError(f"directions: {source} → {target} is not of {self.languages}")
        return self


def both_ways(languages: tuple[str, str]) -> frozenset[tuple[str, str]]:
    """The two directions between two languages."""
    return frozenset({languages, languages[::-1]})


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
                yield line.decode("utf-8" if number > 1 else "utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: not UTF-8 ({error.reason})") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reached = f", after line {number}" if number else ""
        cause = getattr(error, "strerror", None) or reason(error)
        raise DataError(f"{path}: {cause}{reached}") from None


def read_corpus(files: Files, languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a corpus, in the order of `languages`. Raises `DataError`."""
    if isinstance(files, tuple):
        return read_parallel(*files)
    suffixes = [suffix for suffix in files.suffixes if suffix not in _COMPRESSED]
    if suffixes[-1:] == [".jsonl"]:
        return read_json_lines(files, languages)
    return read_pairs(files)


def read_json_lines(path: Path, languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of both languages of each line. Raises `DataError` with file and line."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            values = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: not JSON: {error}") from None
        if isinstance(values, dict):
            values = values.get("translation", values)
        texts = [
            values.get(language) if isinstance(values, dict) else None for language in languages
        ]
        for language, text in zip(languages, texts, strict=True):
            if not isinstance(text, str):
                raise DataError(f"{path}:{number}: has no text '{language}'")
            try:
                text.encode()
            except UnicodeEncodeError as error:  # half of a pair of escapes such as \ud83d\ude00
                raise DataError(f"{path}:{number}: '{language}': {error.reason}") from None
        first, second = (" ".join(str(text).splitlines()) for text in texts)
        yield first, second


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.suffix == ".xz":
        return lzma.open(path)
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")
