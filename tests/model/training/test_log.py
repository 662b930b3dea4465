from pathlib import Path

import pytest

from model.errors import DataError
from model.training.log import cut_log, read_log, write_figures

UPDATE = {"step": 50.0, "loss": 3.0, "tokens": 900.0}
MEASUREMENT = {"step": 50.0, "dev.fr.bleu": 1.5}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    with path.open("w") as file:
        for step in (50, 100, 150):
            write_figures(file, UPDATE | {"step": step})
            write_figures(file, MEASUREMENT | {"step": step})
    return path


def steps(path: Path) -> tuple[list[float], list[float]]:
    log = read_log(path)
    return [line["step"] for line in log.updates], [line["step"] for line in log.validations]


def test_a_written_log_is_read(log: Path) -> None:
    assert read_log(log).updates[0] == UPDATE
    assert read_log(log).validations[0] == MEASUREMENT


@pytest.mark.parametrize(
    ("last_step", "left"),
    [(0, []), (99, [50]), (100, [50, 100]), (150, [50, 100, 150]), (999, [50, 100, 150])],
)
def test_cut_back_to_a_step(log: Path, last_step: int, left: list[int]) -> None:
    cut_log(log, last_step)
    assert steps(log) == (left, left)
    assert [path.name for path in log.parent.iterdir()] == ["log.jsonl"]


def test_a_half_written_last_line_is_cut(log: Path) -> None:
    whole = log.read_text()
    log.write_text(whole + '{"step": 150, "lo')
    cut_log(log, 150)
    assert log.read_text() == whole


def test_without_a_log_there_is_nothing_to_cut(tmp_path: Path) -> None:
    cut_log(tmp_path / "log.jsonl", 3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["not JSON", "[1]", "{}", '{"step": 1'])
def test_foreign_line_is_named(log: Path, line: str) -> None:
    log.write_text(log.read_text() + line + "\n")
    with pytest.raises(DataError, match=r"log\.jsonl:7: not a line of a training log"):
        read_log(log)


def test_missing_and_binary_logs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_log(tmp_path / "log.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not a training log"):
        read_log(tmp_path / "binary")
