import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.translator import Sentence, Translator, offline_engines
from tests.app.cli.conftest import Attend

ENGLISH = ["A dog.", "", "The weather is nice today.", "The old cat sees a green house."]


@pytest.fixture
def pairs_file(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A test file, English first, whose French is the checkpoint's translation."""
    loaded = load_checkpoint(tiny_checkpoint)
    sentence = partial(
        Sentence, codec=loaded.tokenizer, direction=("en", "fr"), max_tokens=128,
        options=SearchOptions(beam_size=2),
    )  # fmt: skip
    french = Translator(sentence, offline_engines(loaded)).stream(ENGLISH)
    file = tmp_path / "perfect.tsv"
    lines = [f"{en}\t{fr.translation}\n" for en, fr in zip(ENGLISH, french, strict=True)]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def evaluate(attend: Attend, checkpoint: Path, *arguments: str | Path) -> dict[str, Any]:
    result = attend("evaluate", "--checkpoint", checkpoint, "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_own_translations_score_100(
    attend: Attend, tiny_checkpoint: Path, pairs_file: Path
) -> None:
    document = evaluate(attend, tiny_checkpoint, "--source", "en", "--target", "fr", pairs_file)
    (result,) = document["files"]
    assert result["bleu"] == pytest.approx(100)
    assert result["chrf"] == pytest.approx(100)
    assert result["pairs"] == len(ENGLISH)
    assert result["sentences_per_second"] > 0
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in result["bleu_signature"]
    assert "nrefs:1|case:mixed|eff:yes|nc:6|nw:0" in result["chrf_signature"]
    assert document["beam_size"] == 2  # the checkpoint's


def test_english_is_the_first_column(
    attend: Attend, tiny_checkpoint: Path, pairs_file: Path, tmp_path: Path
) -> None:
    swapped = tmp_path / "swapped.tsv"
    pairs = [line.split("\t") for line in pairs_file.read_text(encoding="utf-8").splitlines()]
    swapped.write_text("".join(f"{fr}\t{en}\n" for en, fr in pairs), encoding="utf-8")
    back = evaluate(attend, tiny_checkpoint, "--source", "fr", pairs_file)["files"][0]["bleu"]
    wrong = evaluate(attend, tiny_checkpoint, swapped)["files"][0]["bleu"]
    bleu = evaluate(attend, tiny_checkpoint, "--columns", "FR,en", swapped)["files"][0]["bleu"]
    assert bleu == pytest.approx(100)
    assert wrong < 50
    assert back < 50


def test_several_files_make_a_table(
    attend: Attend, tiny_checkpoint: Path, pairs_file: Path
) -> None:
    result = attend(
        "evaluate", "--checkpoint", tiny_checkpoint, "--beam-size", "1", pairs_file, pairs_file
    )
    assert result.exit_code == 0
    assert "tiny: en → fr, beam 1, length penalty 0.6" in result.stdout
    assert "BLEU nrefs:1|case:mixed" in result.stdout
    assert "chrF nrefs:1|case:mixed" in result.stdout


@pytest.mark.parametrize("columns", ["en", "en,de", "en,en", "fr,en,fr"])
def test_columns_name_languages(
    attend: Attend, tiny_checkpoint: Path, pairs_file: Path, columns: str
) -> None:
    command = ("evaluate", "--checkpoint", tiny_checkpoint, "--columns", columns, pairs_file)
    result = attend(*command)
    assert result.exit_code == 2
    assert "must name en and fr" in result.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", ": no pairs"),
        ("a\tb\nno tab\n", ":2: 1 tab-separated columns, expected 2"),
        ("a\tb\n" + "dog " * 200 + "\tb\n", ":2: "),
    ],
)
def test_bad_files(
    attend: Attend, tiny_checkpoint: Path, tmp_path: Path, content: str, reason: str
) -> None:
    file = tmp_path / "bad.tsv"
    file.write_text(content)
    result = attend("evaluate", "--checkpoint", tiny_checkpoint, file)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"attend: {file}{reason}")
