"""Marian as a system, with a stand-in for `pymarian` that translates by reversing."""

from __future__ import annotations

import sys
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
def test_a_model_stays_loaded_as_long_as_the_options_are_the_same() -> None:
    with MarianProcess(sys.executable) as process:
        assert process.translate("--said a", ["x", "y"])[1] == ["--said a 1", "--said a 2"]
        assert process.translate("--said a", ["x"])[1] == ["--said a 3"]
        assert process.translate("--said b", ["x"])[1] == ["--said b 1"]


@pytest.mark.usefixtures("pymarian")
def test_an_end_of_marian_is_an_error_that_names_its_options() -> None:
    with (
        MarianProcess(sys.executable) as process,
        pytest.raises(RuntimeError, match="pymarian ended; its options: --broken"),
    ):
        process.translate("--broken", ["x"])


def test_single_sentences_have_one_thread() -> None:
    process = MarianProcess(sys.executable)  # not started
    one, two = (Marian(process, "Marian", "", PIECES, n) for n in (1, 2))
    alone, together = (Task([(2, 0)], SearchOptions(beam_size=1), batch) for batch in (1, 16))
    assert [one.suits(alone), two.suits(alone), two.suits(together)] == [True, False, True]
    assert two.threads == "2 × 1"
