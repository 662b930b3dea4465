from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import bulk
from benchmarks.bulk import long_list, long_text, main

LINES = ["ab", "cde", "f"]
WANTED = {"ab": "AB", "cde": "CDE", "f": "F"}


def test_a_text_is_as_many_whole_lines_as_fit() -> None:
    made = long_text(LINES, 12)
    assert made.text == "ab\ncde\nf\nab"  # and not "cde" once more
    assert len(long_text(LINES, 15).text) == 15


def test_a_list_is_the_lines_over_again() -> None:
    assert long_list(LINES, 5).text == ["ab", "cde", "f", "ab", "cde"]


@pytest.mark.parametrize(
    ("answer", "n_other"),
    [("AB\nCDE\nF\nAB", 0), ("CDE\nAB\nF\nAB", 2), ("AB\nCDE\nF", 4), ("", 4)],
)
def test_lines_elsewhere_and_lines_missing_are_counted(answer: str, n_other: int) -> None:
    assert long_text(LINES, 12).n_other([answer], WANTED) == n_other
    assert long_list(LINES, 4).n_other(answer.split("\n"), WANTED) == n_other


@pytest.fixture
def arguments(tiny_checkpoint: Path, kernels: None, tmp_path: Path) -> list[str]:
    sentences = tmp_path / "x"
    sentences.write_text("The cat sees.\nA dog.\n")
    return [
        "--checkpoint", str(tiny_checkpoint), "--sentences", str(sentences), "--texts", "20",
        "--characters", "60", "--seconds", "0.5", "--threads", "1",
        "--json", str(tmp_path / "x.json"),
    ]  # fmt: skip


def test_the_program_finds_all_in_order(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    alone, text, texts = json.loads(Path(arguments[-1]).read_text())["rows"]
    assert "Requests" not in alone
    assert (text["Texts"], texts["Texts"]) == (1, 20)
    assert text["Other answers"] == texts["Other answers"] == 0
    assert min(text["Requests"], texts["Requests"]) >= 1


@pytest.mark.parametrize(("n_other", "n_errors"), [(1, 0), (0, 1)])
def test_another_answer_is_a_failure_and_so_is_an_error(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, n_other: int, n_errors: int
) -> None:
    row = {"Other answers": n_other, "Errors": n_errors}
    monkeypatch.setattr(bulk, "measure", lambda *_: row)
    assert CliRunner().invoke(main, arguments).exit_code == 1
