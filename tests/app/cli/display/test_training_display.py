import re
from pathlib import Path

import pytest

from app.cli.display.training_display import TrainingDisplay
from model.training.data.filters import FilterCounts
from model.training.log import read_log
from model.training.state import Counters


def figures(step: int) -> dict[str, float]:
    return {
        "step": step,
        "loss": float(step),
        "cross_entropy": step / 2,
        "learning_rate": 0.1,
        "tokens": 1000.0 * step,
        "seconds": 2.0 * step,
    }


def run(path: Path, first: int, last: int, steps: int) -> None:
    with TrainingDisplay(path, steps) as display:
        display.start(Counters(first, 1000 * first, 2.0 * first), 12_345)
        for step in range(first + 1, last + 1):
            display.on_step(figures(step))


def test_a_log_line_is_the_mean_since_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.jsonl"
    run(path, 0, 120, steps=1000)
    lines = read_log(path).updates
    assert [line["step"] for line in lines] == [50, 100]
    assert lines[0]["loss"] == pytest.approx(25.5)
    assert lines[1]["loss"] == pytest.approx(75.5)
    assert lines[1]["cross_entropy"] == pytest.approx(75.5 / 2)
    assert lines[1]["tokens"] == 100_000
    assert lines[1]["tokens_per_second"] == pytest.approx(500)


def test_a_resumed_run_appends_on_the_same_grid_and_logs_its_last_step(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run(path, 0, 70, steps=1000)
    run(path, 70, 110, steps=110)
    lines = read_log(path).updates
    assert [line["step"] for line in lines] == [50, 100, 110]
    assert lines[1]["loss"] == pytest.approx(sum(range(71, 101)) / 30)
    assert lines[1]["tokens_per_second"] == pytest.approx(500)


def test_lines_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "log.jsonl", 0, 50, steps=1000)
    errors = capsys.readouterr().err
    assert "12,345 parameters, from step 0" in errors
    assert "step 50/1,000  loss 25.500  500 tokens/s  0:31:40 left" in errors
    printed = [int(step) for step in re.findall(r"step (\d+)/", errors)]
    assert printed == [1, 2, 5, 10, 20, 50]


def test_first_resumed_steps_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "log.jsonl", 70, 90, steps=1000)
    assert [int(step) for step in re.findall(r"step (\d+)/", capsys.readouterr().err)] == [
        71, 72, 75, 80, 90,
    ]  # fmt: skip


def test_time_left_after_a_resumption(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingDisplay(tmp_path / "log.jsonl", 170) as display:
        display.start(Counters(70, 70_000, 1e6), 12_345)  # on a slow machine
        display.on_step(figures(71) | {"seconds": 1e6 + 3})
    assert "0:04:57 left" in capsys.readouterr().err


def test_without_a_log_there_is_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingDisplay(None, 10) as display:
        display.start(Counters(), 7)
        display.on_corpus("toy", FilterCounts(3, 3))
        for step in range(1, 11):
            display.on_step(figures(step))
    assert capsys.readouterr() == ("", "")


def test_corpora_have_printed_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingDisplay(tmp_path / "log.jsonl", 10) as display:
        display.on_corpus("toy", FilterCounts(read=1200, kept=1199, identical=1))
    assert "toy: 1,200 pairs, 1,199 kept (dropped: 1 identical)" in capsys.readouterr().err


def test_validations_logged_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = {
        "step": 7.0, "dev.fr.cross_entropy": 3.25, "dev.fr.bleu": 12.34,
        "dead_units": 0.125, "dead_units_worst": 0.95,
    }  # fmt: skip
    with TrainingDisplay(tmp_path / "log.jsonl", 10) as display:
        display.start(Counters(), 1)
        display.on_validation(measured)
        display.on_warning("a layer is dead")
        display.on_validation({"step": 8.0, "dead_units": 0.0})
        logged = read_log(tmp_path / "log.jsonl").validations
    assert logged == [measured, {"step": 8.0, "dead_units": 0.0}]
    output = capsys.readouterr().err
    assert "step 7: dev.fr 3.250  BLEU 12.3  dead units 12.5%\n" in output
    assert "warning: a layer is dead\nstep 8: \n" in output
