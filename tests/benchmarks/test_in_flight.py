from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.in_flight import closed_loop, main
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Finished, Job
from tests.app.fake_engine import FakeEngine


def test_the_program_compares_both_engines(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    arguments = ["--checkpoint", str(tiny_checkpoint), "--count", "6", "--clients", "3"]
    arguments += ["--beam", "2", "--rounds", "2", "--threads", "1", "--json", str(file)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    ours, reference = json.loads(file.read_text("utf-8"))["rows"]
    assert (ours["Engine"], reference["Engine"]) == ("torch", "reference")
    assert (ours["Same"], reference["Reference needs"]) == (1, 1)
    assert ours["Reference needs"] > 0


def test_no_more_are_in_flight_than_there_are_clients() -> None:
    most = 0

    class Watched(FakeEngine):
        def step(self) -> list[Finished]:
            nonlocal most
            most = max(most, len(self._left))
            return super().step()

    jobs = [Job(index, (2, 20 + index, 0), SearchOptions(1)) for index in range(10)]
    found = closed_loop(Watched(n_steps=2), jobs, 3).found
    assert most == 3
    assert found.keys() == set(range(10))
