import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import decode, exactness
from benchmarks.exactness import Difference, arriving, batched, main
from benchmarks.system import best
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Finished, Job

ONE = Hypothesis((5, 6), (-0.1, -0.2, -0.3), score=-0.6, capped=False)
OPTIONS = SearchOptions(beam_size=2, max_target_tokens=6)
JOBS = [Job(index, (2, *range(300, 301 + index % 6), 0), OPTIONS) for index in range(30)]


def test_differences_by_hand() -> None:
    expected = dict.fromkeys(range(5), ONE)
    found = expected | {
        1: replace(ONE, ids=(5, 7)),
        2: replace(ONE, score=-0.5),
        3: replace(ONE, log_probs=(-0.2, -0.1, -0.3)),
        4: replace(ONE, capped=True),
    }
    assert Difference.between(expected, expected) == Difference(5, 0, 0, 0.0)
    difference = Difference.between(expected, found)
    assert (difference.sentences, difference.tokens, difference.scores) == (5, 2, 2)
    assert difference.largest == pytest.approx(0.1)


def test_a_sentence_that_is_missing_is_noticed() -> None:
    with pytest.raises(KeyError):
        Difference.between({0: ONE, 1: ONE}, {0: ONE})


@pytest.mark.parametrize("seed", range(3))
def test_every_run_answers_exactly_its_sentences(tiny_checkpoint: Path, seed: int) -> None:
    engine = EagerEngine(load_model(load_checkpoint(tiny_checkpoint)))
    expected = batched([engine], JOBS, 1)
    for found in (batched([engine], JOBS), arriving(engine, JOBS, seed)):
        difference = Difference.between(expected, found)
        assert (difference.sentences, difference.tokens) == (30, 0)
        assert difference.largest < 1e-5


class BatchDependentEngine(EagerEngine):
    """Its scores depend on the batch size."""

    def step(self) -> list[Finished]:
        finished: list[Finished] = []
        while self.busy:
            finished += super().step()
        swayed = []
        for job_id, outcome in finished:
            assert isinstance(outcome, list)
            best = replace(outcome[0], score=float(len(finished)))
            swayed.append(Finished(job_id, [best]))
        return swayed


@pytest.mark.parametrize(
    ("precision", "n_runs"),
    [("int8", 2), ("fp32", 3)],  # the reference is in float32
)
def test_the_program_finds_no_difference(
    tiny_checkpoint: Path, tmp_path: Path, precision: str, n_runs: int
) -> None:
    file = tmp_path / "x.json"
    arguments = ["--checkpoint", str(tiny_checkpoint), "--count", "12", "--json", str(file)]
    result = CliRunner().invoke(
        main, [*arguments, "--threads", "1", "--beam", "2", "--precision", precision]
    )
    assert result.exit_code == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["Other tokens"] for row in rows] == [0] * n_runs
    assert [row["Other scores"] for row in rows[:2]] == [0, 0]


def test_the_torch_engine_equals_the_reference(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    arguments = ["--checkpoint", str(tiny_checkpoint), "--count", "3", "--json", str(file)]
    arguments += ["--beam", "2", "--precision", "fp32", "--torch", "cpu", "--threads", "1"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    report = json.loads(file.read_text())
    assert report["settings"]["engine"] == "torch"
    assert [row["Other tokens"] for row in report["rows"]] == [0] * 3


def test_a_difference_is_a_failure(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        exactness,
        "build_engines",
        lambda loaded, *_, **__: [BatchDependentEngine(load_model(loaded))],
    )
    arguments = ["--checkpoint", str(tiny_checkpoint), "--count", "12", "--beam", "1"]
    assert CliRunner().invoke(main, arguments).exit_code == 1


def test_the_error_of_a_sentence_is_raised() -> None:
    with pytest.raises(ValueError, match="lost"):
        best([Finished(0, ValueError("lost"))])


def test_each_benchmark_has_a_help_of_its_own() -> None:
    assert main.help
    assert main.help != decode.main.help
