import os
import shutil
from pathlib import Path

import pytest

from model.checkpoint.shelf_folder import find_checkpoints
from model.errors import CheckpointError


def test_checkpoints_are_found_by_configuration(tiny_checkpoint: Path, tmp_path: Path) -> None:
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
    assert (first.config.name, second.config.name) == ("a", "b")  # not as in config.json
    assert second.n_bytes > first.n_bytes > 0


def test_a_damaged_folder_leaves_the_others_usable(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_checkpoint, tmp_path / "fine")
    config = (tiny_checkpoint / "config.json").read_bytes()
    contents = {
        "cut": config[:-10], "binary": b"\xff\xfe\0", "list": b"[]", "deep": b"[" * 100_000,
        "empty": b"", "number": b'{"format": ' + b"9" * 5000 + b"}",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_bytes(content)
    (tmp_path / "folder" / "config.json").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "config.json")
    shutil.copytree(tiny_checkpoint, tmp_path / "pipe-of-weights")
    (tmp_path / "pipe-of-weights" / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "pipe-of-weights" / "model.safetensors")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("/nonexistent")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "config.json").symlink_to("config.json")
    (tmp_path / "\udcff").mkdir()
    (tmp_path / "linked").symlink_to("fine")
    (tmp_path / "forbidden").mkdir()
    is_dir = Path.is_dir

    def check(path: Path, **how: bool) -> bool:
        if path.name == "forbidden":  # root ignores permissions
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path, **how)

    monkeypatch.setattr(Path, "is_dir", check)
    usable, unusable = find_checkpoints(tmp_path)
    assert [one.config.name for one in usable] == ["fine", "linked"]
    reasons = {one.folder.name: one.reason for one in unusable}
    assert reasons.keys() == {
        *contents, "folder", "pipe", "pipe-of-weights", "self", "forbidden", "\udcff",
    }  # fmt: skip
    assert "not a regular file" in reasons["pipe"]
    assert "Permission denied" in reasons["forbidden"]
    for reason in reasons.values():
        assert "\n" not in reason
        reason.encode()


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


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected a folder of models"):
        find_checkpoints(tmp_path / "nowhere")
