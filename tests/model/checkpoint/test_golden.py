from pathlib import Path

import pytest

from model.checkpoint.golden import GOLDEN_FILE, GoldenSentence, read_golden, write_golden
from model.errors import CheckpointError

DIRECTIONS = [("en", "fr")]
CAT = GoldenSentence(source="en", target="fr", text="A cat.", translation="Un chat… «été»")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read_golden(tmp_path, DIRECTIONS) == ()
    write_golden(tmp_path, [CAT, CAT])
    write_golden(tmp_path, [CAT])
    assert read_golden(tmp_path, DIRECTIONS) == (CAT,)
    assert [path.name for path in tmp_path.iterdir()] == [GOLDEN_FILE]
    assert "été" in (tmp_path / GOLDEN_FILE).read_text("utf-8")


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("", "JSON"),
        ("[]", "at least 1"),
        ("{}", "array"),
        ('[{"source": "en", "target": "fr", "text": "A"}]', "translation"),
        ('[{"source": "en", "target": "fr", "text": "A", "translation": "B", "x": 1}]', "x"),
        ('[{"source": "en", "target": "de", "text": "A", "translation": "B"}]', "en to de"),
    ],
)
def test_invalid_records_are_refused_by_name(tmp_path: Path, written: str, named: str) -> None:
    (tmp_path / GOLDEN_FILE).write_text(written, encoding="utf-8")
    with pytest.raises(CheckpointError, match=named) as refused:
        read_golden(tmp_path, DIRECTIONS)
    assert GOLDEN_FILE in str(refused.value)
