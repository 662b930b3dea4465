from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.int8 import Likeness, main


def test_likeness_counts_equal_sentences_and_common_characters() -> None:
    same = Likeness.between(["a b", "c"], ["a b", "c"])
    assert (same.equal, same.chrf) == (1.0, 100.0)
    other = Likeness.between(["the cat", "dog"], ["the cat", "wolf"])
    assert other.equal == 0.5
    assert 0 < other.chrf < 100


def test_a_run_compares_each_system_with_itself(
    tiny_checkpoint: Path, kernels: None, tmp_path: Path
) -> None:
    options = ["--checkpoint", str(tiny_checkpoint), "--count", "3", "--threads", "1", "--no-peers"]
    options += ["--max-tokens", "5", "--beam", "2", "--json", str(tmp_path / "found.json")]
    result = CliRunner().invoke(main, options, catch_exceptions=False)
    assert result.exit_code == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["columns"].keys() == found["rows"][0].keys()
    [row] = found["rows"]
    assert (row["System"], row["Beam"], row["Sentences"]) == ("attend", 2, 3)
    assert round(3 * row["equal"]) == pytest.approx(3 * row["equal"])
