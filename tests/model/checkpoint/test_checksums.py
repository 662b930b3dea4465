"""Flipped bits that leave a file readable, in the weights or the vocabulary."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from model.checkpoint.checksums import CHECKSUMS_FILE, checksums_of
from model.checkpoint.reader import load_checkpoint
from model.errors import CheckpointError


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "tiny"))


def flip(path: Path, at: float, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("at", [0.3, 0.5, 0.9, 0.999])
def test_a_flipped_bit_of_the_weights_is_found(folder: Path, at: float) -> None:
    path = folder / "model.safetensors"
    flip(path, at)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged.*delete SHA256SUMS"):
        load_checkpoint(folder)
    (folder / CHECKSUMS_FILE).unlink()
    assert not load_checkpoint(folder).verified  # as before checksums existed


def test_every_part_is_listed_and_files_that_users_edit_are_not(folder: Path) -> None:
    assert load_checkpoint(folder).verified
    listed = [line.split()[1] for line in (folder / CHECKSUMS_FILE).read_text().splitlines()]
    assert listed == ["model.safetensors", "sentencepiece.model"]
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"name": "mine"}))
    assert load_checkpoint(folder).verified


@pytest.mark.parametrize("removed", [0, 1])
def test_a_part_that_is_not_listed_is_not_verified(folder: Path, removed: int) -> None:
    path = folder / CHECKSUMS_FILE
    lines = path.read_text().splitlines(keepends=True)
    del lines[removed]
    path.write_text("".join(lines))
    assert not load_checkpoint(folder).verified


@pytest.mark.parametrize("line", ["x", "0" * 63 + "  a", "g" * 64 + "  a", "0" * 64, ""])
def test_malformed_lines_are_named(folder: Path, line: str) -> None:
    path = folder / CHECKSUMS_FILE
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(CheckpointError, match="SHA256SUMS: line 3 should be a SHA-256 and a file"):
        load_checkpoint(folder)


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="there is no sha256sum")
def test_the_command_sha256sum_agrees(folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", CHECKSUMS_FILE], cwd=folder, check=True)
    parts = ["config.json", "model.safetensors", "sentencepiece.model"]
    printed = subprocess.run(["sha256sum", *parts], cwd=folder, check=True, capture_output=True)
    again = subprocess.run(["sha256sum"], input=printed.stdout, check=True, capture_output=True)
    assert again.stdout.decode().split()[0] == load_checkpoint(folder).digest
    assert list(checksums_of(folder, parts)) == parts
