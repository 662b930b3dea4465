"""The sentences to translate."""

from itertools import cycle, islice
from pathlib import Path

FIXTURE = Path(__file__).with_name("sentences.txt")
"""48 everyday English sentences, included so that all benchmarks run without downloads."""


def read_sentences(path: Path, n: int | None = None, column: int = 0) -> list[str]:
    """Read a column of a file, by default the first, without empty cells; repeat them up to n.

    Raises `ValueError` if there are no sentences.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    columns = [line.split("\t") for line in lines]
    sentences = [cells[column].strip() for cells in columns if len(cells) > column]
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences:
        raise ValueError(f"{path}: no sentences")
    return sentences if n is None else list(islice(cycle(sentences), n))
