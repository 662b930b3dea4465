"""The format of the phrase book, and the counts in its README."""

import lzma
import re
from pathlib import Path

BOOK = Path(__file__).parent.parent / "phrase-book"


def read(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def test_each_file_has_pairs_and_is_counted_in_the_readme() -> None:
    counted = dict(
        re.findall(r"^\| `(\S+)` \| ([\d,]+) \|", (BOOK / "README.md").read_text(), re.MULTILINE)
    )
    files = sorted(BOOK.glob("*.xz"))
    assert sorted(counted) == [path.name for path in files]
    seen: set[str] = set()
    for path in files:
        lines = read(path)
        assert counted[path.name] == f"{len(lines):,}"
        for line in lines:
            sides = line.split("\t")
            assert len(sides) == 2, line
            assert all(side == side.strip() != "" for side in sides), line
        pairs = {line.lower() for line in lines}
        assert len(pairs) == len(lines)
        if path.name != "formulas.train.tsv.xz":  # repeats some of the others
            assert not seen & pairs
            seen |= pairs


def test_typography_is_plain() -> None:
    for path in BOOK.glob("phrases*.xz"):
        for line in read(path):
            assert not re.search("[’\u00a0\u202f]", line), line
