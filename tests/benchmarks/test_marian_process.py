"""Marian as a system, with a stand-in for `pymarian` that translates by reversing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.marian_process import Marian, MarianProcess
from benchmarks.system import Task
from model.decoding.hypothesis import SearchOptions

PYMARIAN = """
print("Marian writes to standard output")
class Translator:
    def __init__(self, options):
        if "broken" in options:
            raise SystemExit(1)
        self.options, self.calls = options, 0
    def translate(self, text):
        self.calls += 1
        if "--said" in self.options:
            return f"{self.options} {self.calls}"
        return "\\n".join(" ".join(reversed(line.split())) for line in text.split("\\n")) + "\\n"
"""
PIECES = ["</s>", "<unk>", "a", "b", "c", "<pad>"]


@pytest.fixture
def pymarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pymarian.py").write_text(PYMARIAN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("pymarian")
@pytest.mark.parametrize("batch", [1, 2])
def test_ids_go_out_as_pieces_and_come_back(batch: int) -> None:
    with MarianProcess(sys.executable) as process:
        system = Marian(process, "Marian", "--models x", PIECES, 1)
        task = Task([(2, 3, 0), (4, 0), (2, 2, 4, 0)], SearchOptions(beam_size=1), batch)
        answer = system.answer(task)
    assert answer.targets == [(3, 2), (4,), (4, 2, 2)]
    assert answer.seconds > 0
    assert answer.n_tokens == 6 + 3  # with ends of sentences


@pytest.mark.usefixtures("pymarian")
def test_the_models_of_the_last_few_options_stay_loaded() -> None:
    with MarianProcess(sys.executable) as process:
        assert process.translate("--said a", ["x", "y"])[1] == ["--said a 1", "--said a 2"]
        assert process.translate("--said a", ["x"])[1] == ["--said a 3"]
        for name in "bcd":
            assert process.translate(f"--said {name}", ["x"])[1] == [f"--said {name} 1"]
        assert process.translate("--said a", ["x"])[1] == ["--said a 1"]  # had to make room


@pytest.mark.usefixtures("pymarian")
def test_an_end_of_marian_is_an_error_that_names_its_options() -> None:
    with (
        MarianProcess(sys.executable) as process,
        pytest.raises(RuntimeError, match="pymarian ended; its options: --broken"),
    ):
        process.translate("--broken", ["x"])


@pytest.mark.parametrize("newline", ["", "\n"])
def test_an_empty_translation_is_one(newline: str) -> None:
    class Fake(MarianProcess):
        def translate(self, options: str, calls: Sequence[str]) -> tuple[float, list[str]]:
            return 1.0, [f"\nb a\n{newline}"]

    task = Task([(2, 0)] * 3, SearchOptions(beam_size=1), 3)
    found = Marian(Fake(sys.executable), "Marian", "", PIECES, 1).answer(task)
    assert found.targets == [(), (3, 2), ()]


@pytest.mark.parametrize(("batch", "n_threads"), [(1, 1), (16, 2)])
def test_sentences_alone_have_one_thread(batch: int, n_threads: int) -> None:
    class Fake(MarianProcess):
        def translate(self, options: str, calls: Sequence[str]) -> tuple[float, list[str]]:
            assert f"--cpu-threads {n_threads} --mini-batch {batch} " in options
            return 1.0, ["b a\n"]

    system = Marian(Fake(sys.executable), "Marian", "", PIECES, 2)
    task = Task([(2, 3, 0)], SearchOptions(beam_size=1), batch)
    assert system.suits(task)
    assert system.answer(task).targets == [(3, 2)]
    assert system.threads == "2 × 1"
