from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import equality
from benchmarks.equality import compare, main, printed
from benchmarks.server import Server

PAIRS = (
    "The house is nice.\tla maison\n\nThe old cat sees a dog.\tle chat\nThe house is nice.\tun\n"
)


@pytest.fixture
def arguments(tiny_checkpoint: Path, kernels: None, tmp_path: Path) -> list[str]:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(PAIRS)
    return [
        "--checkpoint", str(tiny_checkpoint), "--sentences", str(pairs), "--clients", "2",
        "--threads", "1", "--json", str(tmp_path / "x.json"),
    ]  # fmt: skip


def rows(arguments: list[str]) -> list[list[object]]:
    report = json.loads(Path(arguments[-1]).read_text())
    return [list(row.values()) for row in report["rows"]]


def test_the_server_answers_as_the_command_line_prints(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert rows(arguments) == [["en → fr", "off", 2, 2, 0], ["en → fr", "on", 4, 2, 0]]


def test_another_word_is_found(stub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def shouted(port: int, texts: list[str], fields: object, clients: int) -> list[str]:
        return [text.upper() for text in texts]

    monkeypatch.setattr(equality, "answered", shouted)
    row = compare(stub, {"a": "A", "b": "b", "c": "C"}, ("en", "fr"), clients=2, rounds=2)
    assert (row["Requests"], row["Sentences"], row["Different"]) == (6, 3, 1)


def test_another_word_is_a_failure(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equality, "printed", lambda _, texts, *flags: texts)
    monkeypatch.setattr(equality, "compare", lambda *_: {"Different": 1})
    assert CliRunner().invoke(main, arguments).exit_code == 1


def test_a_command_line_that_fails_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="attend translate"):
        printed(tmp_path / "none", ["a"])
