from pathlib import Path

import pytest

from benchmarks.sentences import FIXTURE, read_sentences


def test_the_first_column_without_empty_lines_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("One.\tUn.\n\nTwo.\n")
    assert read_sentences(path) == ["One.", "Two."]
    assert read_sentences(path, 1) == ["One."]
    assert read_sentences(path, 3) == ["One.", "Two.", "One."]


def test_a_file_without_sentences_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_text("\n\n")
    with pytest.raises(ValueError, match="no sentences"):
        read_sentences(path)


def test_some_sentences_are_included() -> None:
    sentences = read_sentences(FIXTURE)
    assert len(sentences) == len(set(sentences)) == 48
