from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.text.glossary import Glossary
from benchmarks.constraints import Example, Outcome, TermFinder, main
from model.checkpoint.reader import load_checkpoint
from tests.app.fake_engine import FakeEngine


def test_what_is_said_is_counted_by_hand() -> None:
    asked = [Example("the cat", "le chat", {"cat": "chat"}), Example("a cat", "un chat", {})]
    terms = [list(Glossary({"cat": "chat", "the": "le"}).find(one.source)) for one in asked]
    row = Outcome(["le chat", "un chien"], seconds=0.5).row("free", asked, terms)
    assert (row["Terms"], row["Said"], row["Sentences/s"]) == (3, 2, 4.0)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.tsv"
    source, reference = "The green weather sees the dog today", "Le temps vert voit chien demain"
    file.write_text(f"{source}\t{reference}\n" * 6, encoding="utf-8")
    return file


def measure(tiny_checkpoint: Path, pairs: Path, *options: str) -> Result:
    wanted = ["--checkpoint", str(tiny_checkpoint), "--pairs", str(pairs), "--threads", "1"]
    return CliRunner().invoke(main, [*wanted, *options])


@pytest.mark.usefixtures("kernels")
def test_all_terms_of_a_real_if_random_model_are_said(
    tiny_checkpoint: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TermFinder, "entries", lambda *_: {"green": "vert", "dog": "chien"})
    result = tmp_path / "result.json"
    done = measure(
        tiny_checkpoint, pairs, "--count", "3", "--terms", "2", "--beam", "2", "--json", str(result)
    )
    assert done.exit_code == 0, done.output
    free, bound = json.loads(result.read_text("utf-8"))["rows"]
    assert free["Terms"] == bound["Terms"] == bound["Said"] == 6


def test_terms_are_words_that_are_linked_and_differ(tiny_checkpoint: Path) -> None:
    checkpoint = load_checkpoint(tiny_checkpoint)
    finder = TermFinder(checkpoint, FakeEngine(), ("en", "fr"))
    # All weights being equal, every target word is linked to the first of the source.
    assert finder.entries("green dog", "vert chien") == {}
    assert finder.entries("green dog", "vertes") == {"green": "vertes"}
    assert finder.entries("green dog", "green") == {}
    assert finder.entries("the dog", "chien") == {}


def test_without_any_term_there_is_nothing_to_measure(tiny_checkpoint: Path, pairs: Path) -> None:
    done = measure(tiny_checkpoint, pairs, "--terms", "50")
    assert done.exit_code == 1
    assert "terms" in done.output
