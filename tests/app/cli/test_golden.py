import shutil
from pathlib import Path

import pytest

from model.checkpoint.golden import GOLDEN_FILE
from model.checkpoint.reader import load_checkpoint
from tests.app.cli.conftest import Attend

SENTENCES = "The cat sees the dog.\n\nThe house is nice today.\nA weather.\n"


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path, kernels: None) -> Path:
    copy = tmp_path / "tiny"
    shutil.copytree(tiny_checkpoint, copy)
    return copy


def test_sentences_are_recorded_by_direction(attend: Attend, folder: Path) -> None:
    digest = load_checkpoint(folder).digest
    first = attend("golden", "--checkpoint", folder, "--count", "1", stdin=SENTENCES)
    assert first.exit_code == 0, first.stderr
    assert "1 sentence, en to fr" in first.stdout
    attend("golden", "--checkpoint", folder, "--source", "fr", stdin="La maison.\n")
    again = attend("golden", "--checkpoint", folder, stdin=SENTENCES)
    assert again.exit_code == 0
    loaded = load_checkpoint(folder)
    assert loaded.digest == digest
    by_source = {one.source for one in loaded.golden}
    assert by_source == {"fr", "en"}
    english = [one for one in loaded.golden if one.source == "en"]
    assert {one.text for one in english} <= set(SENTENCES.splitlines())
    alone = attend("translate", "--checkpoint", folder, stdin=english[0].text + "\n")
    assert alone.stdout == english[0].translation + "\n"


def test_the_shipped_records_are_replaced_only_on_request(
    attend: Attend, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.golden.SHIPPED_CHECKPOINT", folder)
    refused = attend("golden", "--checkpoint", folder, stdin=SENTENCES)
    assert refused.exit_code == 2
    assert f"--output {folder}" in refused.stderr
    assert not (folder / GOLDEN_FILE).exists()
    result = attend("golden", "--checkpoint", folder, "--output", tmp_path, stdin=SENTENCES)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / GOLDEN_FILE).exists()
    assert not (folder / GOLDEN_FILE).exists()


def test_without_a_sentence_nothing_is_written(attend: Attend, folder: Path) -> None:
    result = attend("golden", "--checkpoint", folder, stdin="\n")
    assert result.exit_code == 1
    assert not (folder / GOLDEN_FILE).exists()
