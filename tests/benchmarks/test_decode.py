import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import decode
from benchmarks.decode import Timing, best_of_each, main, measure, rows_of
from benchmarks.system import Answer, LimitedEngine, Task
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Job

GREEDY = SearchOptions(beam_size=1)
TASK = Task([(2, 5, 0)] * 10, GREEDY, batch=4)


@dataclass
class Scripted:
    """A fake system with given durations."""

    name: str
    seconds: list[float]
    threads: str = "1 × 1"
    suitable: bool = True
    log: list[str] = field(default_factory=list)

    def suits(self, task: Task) -> bool:
        return self.suitable

    def answer(self, task: Task) -> Answer:
        self.log.append(f"{self.name} {len(task.sources)}")
        seconds = self.seconds.pop(0) if len(task.sources) == 10 else 9.0
        return Answer(seconds, [(7, 8)] * len(task.sources), [True] * len(task.sources))


def test_systems_alternate_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "SETTLE", 0)
    log: list[str] = []
    systems = [Scripted(name, [1.0] * 3, log=log) for name in "ab"]
    systems.append(Scripted("c", [], suitable=False))
    timings = measure(systems, TASK, rounds=3)
    assert log == ["a 5", "b 5", "a 10", "b 10", "b 10", "a 10", "a 10", "b 10"]
    assert [timing.system.name for timing in timings] == ["a", "b"]
    assert timings[0].rates == [30.0] * 3  # two tokens and an end, ten times


def timing(name: str, threads: str, *seconds: float) -> Timing:
    answers = [Answer(one, [(7, 8)], [True]) for one in seconds]
    return Timing(Scripted(name, [], threads), answers)


def test_the_best_median_of_each_name_is_kept() -> None:
    timings = [
        timing("ours", "1 × 2", 1.0),
        timing("other", "1 × 2", 0.1, 2.0, 2.0),
        timing("other", "2 × 1", 1.0, 1.0, 5.0),
    ]
    kept = best_of_each(timings)
    assert [(one.system.name, one.system.threads) for one in kept] == [
        ("ours", "1 × 2"),
        ("other", "2 × 1"),
    ]


def test_rows_by_hand() -> None:
    task = Task([(2, 5, 0)], GREEDY, batch=1)
    first, second = rows_of(
        task, [timing("ours", "", 1.0, 2.0, 1.0), timing("other", "", 3.0, 4.0, 2.0)]
    )
    assert first["attend is"] == 1
    assert second["attend is"] == 2  # of 3, 2 and 2
    assert (second["Tokens/s"], second["from"], second["to"]) == (1.0, 0.75, 1.5)
    assert second["Sentences/s"] == pytest.approx(1 / 3)
    assert second["Same"] == 1


def test_a_limited_engine_limits_the_sentences_in_flight(tiny_checkpoint: Path) -> None:
    engine = LimitedEngine(EagerEngine(load_model(load_checkpoint(tiny_checkpoint))), 2)
    one, two, three = (Job(index, (5, 6, 1), GREEDY) for index in range(3))
    assert engine.can_admit(one)
    engine.admit([one, two])
    assert not engine.can_admit(three)
    engine.cancel([one.id])
    assert engine.can_admit(three)
    engine.admit([three])
    finished: list[int] = []
    while engine.busy:
        finished += [done.job_id for done in engine.step()]
    assert sorted(finished) == [1, 2]
    assert engine.can_admit(one)


def test_the_program_prints_and_writes_a_table(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    result = CliRunner().invoke(
        main,
        [
            *("--checkpoint", str(tiny_checkpoint), "--no-peers", "--work", str(tmp_path)),
            *("--count", "8", "--batch", "1", "--batch", "4", "--rounds", "1", "--threads", "1"),
            *("--json", str(file)),
        ],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    assert "attend int8" in result.output
    rows = json.loads(file.read_text())["rows"]
    assert [(row["Beam"], row["Batch"]) for row in rows] == [(1, 1), (1, 4), (4, 1), (4, 4)]
    assert all(row["Tokens/s"] > 0 and row["Same"] == 1 for row in rows)
