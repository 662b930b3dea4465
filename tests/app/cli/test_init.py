from pathlib import Path

import pytest

from model.checkpoint.config import WEIGHTS_FILE
from model.checkpoint.reader import load_checkpoint
from tests.app.cli.conftest import Attend


def test_a_checkpoint_that_loads_and_translates(attend: Attend, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()  # empty, so it may be used
    result = attend("init", "--preset", "tiny", "--languages", "de,pt-BR", folder)
    assert result.exit_code == 0, result.stderr
    loaded = load_checkpoint(folder)
    assert loaded.config.directions == [("de", "pt-BR"), ("pt-BR", "de")]
    assert f"{loaded.n_parameters:,} parameters" in result.stdout
    assert attend("translate", "--checkpoint", folder, stdin="abc\n").exit_code == 0


def test_the_seed_decides_the_weights(attend: Attend, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert attend("init", "--preset", "tiny", "--seed", seed, tmp_path / name).exit_code == 0
    a, b, c = ((tmp_path / name / WEIGHTS_FILE).read_bytes() for name in "abc")
    assert a == b != c


def test_the_vocabulary_of_a_file(attend: Attend, tmp_path: Path) -> None:
    text = tmp_path / "text"
    word = "Donaudampfer"
    lines = [f"{word} {first}{second}" for first in "bcdfghjklm" for second in "aeiou" * 10]
    text.write_text("\n".join(lines), encoding="utf-8")
    folder = tmp_path / "tiny"
    result = attend("init", "--preset", "tiny", "--vocab-from", text, folder)
    assert result.exit_code == 1  # fifty words are too few
    assert "cannot learn 512 pieces" in result.stderr
    syllables = [f"{a}{b}{c}" for a in "bcdfghjklm" for b in "aeiou" for c in "npqrstvw"]
    lines = [f"{left}{right}" for left in syllables for right in syllables[::20]] + [word] * 50
    text.write_text("\n".join(lines), encoding="utf-8")
    result = attend("init", "--preset", "tiny", "--vocab-from", text, folder)
    assert result.exit_code == 0, result.stderr
    assert [token.piece for token in load_checkpoint(folder).tokenizer.tokenize(word)] == [
        "▁" + word
    ]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_nothing_is_overwritten(attend: Attend, tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / "there").mkdir()
        (tmp_path / "there" / "config.json").write_text("mine")
    else:
        (tmp_path / "there").write_text("mine")
    result = attend("init", "--preset", "tiny", tmp_path / "there")
    assert result.exit_code == 1
    assert "not overwritten" in result.stderr
    kept = tmp_path / "there" / "config.json" if kind == "folder" else tmp_path / "there"
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("codes", ["en", "en,en", "en,fr,de", "en,", "<en>,fr"])
def test_two_languages_are_required(attend: Attend, tmp_path: Path, codes: str) -> None:
    result = attend("init", "--preset", "tiny", "--languages", codes, tmp_path / "x")
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), (b"ok\n\xff\n", ":2: not UTF-8")]
)
def test_bad_vocabulary(attend: Attend, tmp_path: Path, content: bytes | None, reason: str) -> None:
    text = tmp_path / "text"
    if content is not None:
        text.write_bytes(content)
    result = attend("init", "--preset", "tiny", "--vocab-from", text, tmp_path / "x")
    assert result.exit_code == 1
    assert reason in result.stderr
    assert not (tmp_path / "x").exists()
