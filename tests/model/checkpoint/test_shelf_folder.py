import shutil
from pathlib import Path

import pytest

from model.checkpoint.shelf_folder import find_checkpoints
from model.errors import CheckpointError


def test_checkpoints_are_found_by_their_configurations(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    for name in ("b", "a", ".hidden"):
        shutil.copytree(tiny_checkpoint, tmp_path / name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "a" / "model.safetensors").unlink()  # not read
    usable, unusable = find_checkpoints(tmp_path)
    assert [one.folder.name for one in usable] == ["a", "b"]
    assert [one.folder.name for one in unusable] == ["empty"]
    assert "config.json" in unusable[0].reason
    first, second = usable
    assert first.names == {"a", "tiny"}
    assert second.n_bytes > first.n_bytes > 0


def test_a_fingerprint_changes_with_any_file(tiny_checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_checkpoint, tmp_path / "a")

    def fingerprint() -> object:
        [[found], _] = find_checkpoints(tmp_path)
        return found.fingerprint

    before = fingerprint()
    assert fingerprint() == before
    card = tmp_path / "a" / "CARD.md"
    card.write_text(card.read_text("utf-8"), "utf-8")
    assert fingerprint() != before


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected a folder of models"):
        find_checkpoints(tmp_path / "nowhere")
