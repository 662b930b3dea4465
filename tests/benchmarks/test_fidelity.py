import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.fidelity import main, row_of
from benchmarks.system import Answer, Task
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions


class FixedAnswers:
    """Gives fixed answers."""

    name, threads = "fixed", "1 × 1"

    def __init__(self, *targets: tuple[int, ...]) -> None:
        self.targets = targets

    def suits(self, task: Task) -> bool:
        return True

    def answer(self, task: Task) -> Answer:
        return Answer(1.0, self.targets, [True] * len(task.sources))


def test_the_share_of_equal_answers(tiny_checkpoint: Path) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    task = Task([(2, 5, 0)] * 2, SearchOptions(), 1)
    row = row_of(loaded, task, "x", (FixedAnswers((40, 41), (42,)), FixedAnswers((40, 41), (43,))))
    assert (row["Sentences"], row["System"], row["Equal"]) == ("x", "fixed", 0.5)
    same = row_of(loaded, task, "x", (FixedAnswers((40, 41), (42,)), FixedAnswers((40, 41), (42,))))
    assert (same["Equal"], same["chrF"]) == (1.0, 100.0)


def test_the_program(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    flags = ["--no-peers", "--count", "3", "--threads", "1", "--json", str(file)]
    result = CliRunner().invoke(
        main, ["--checkpoint", str(tiny_checkpoint), *flags], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert [row["System"] for row in json.loads(file.read_text())["rows"]] == ["attend int8"]
