"""The sentences that are translated."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

FIXTURE = Path(__file__).with_name("sentences.txt")
"""48 everyday English sentences, written for this, so that every benchmark runs at once."""


def read_sentences(path: Path, n: int | None = None) -> list[str]:
    """The first column of a file, empty lines left out; n of them, over again if there are fewer.

    Raises `ValueError` for a file without any.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    sentences = [line.partition("\t")[0].strip() for line in lines]
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences:
        raise ValueError(f"{path}: no sentences")
    return sentences if n is None else list(islice(cycle(sentences), n))
