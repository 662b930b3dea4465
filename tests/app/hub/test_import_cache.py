import errno
import shutil
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from app.hub import import_cache
from app.hub.import_cache import checkpoint_folder, default_cache
from model.checkpoint.reader import load_checkpoint
from model.checkpoint.shelf_folder import find_checkpoints
from model.errors import CheckpointError
from model.interop.marian_import import import_marian
from tests.app.cli.conftest import Attend
from tests.argos_package import pack, write_package
from tests.marian_folder import MakeFolder, change_json


def test_a_checkpoint_is_itself(tiny_checkpoint: Path, tmp_path: Path) -> None:
    assert checkpoint_folder(tiny_checkpoint, tmp_path / "cache") == tiny_checkpoint
    assert checkpoint_folder(tmp_path / "missing", tmp_path / "cache") == tmp_path / "missing"
    assert not (tmp_path / "cache").exists()


def test_equal_folders_share_an_import(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "new" / "cache"
    folder = make_folder()
    first = checkpoint_folder(folder, cache)
    assert load_checkpoint(first).config.name == "opus-mt"
    copy = tmp_path / "elsewhere" / "opus-mt"
    shutil.copytree(folder, copy)
    with monkeypatch.context() as patch:
        patch.setattr("model.interop.marian_import.import_marian", _never)
        assert checkpoint_folder(folder, cache) == first
        assert checkpoint_folder(copy, cache) == first
    change_json(copy / "generation_config.json", num_beams=2)
    second = checkpoint_folder(copy, cache)
    assert second != first
    assert load_checkpoint(second).config.beam_size == 2
    assert sorted(path.name for path in first.parent.iterdir()) == sorted([first.name, second.name])


def _never(*_: object) -> NoReturn:
    raise AssertionError


def test_versions_have_own_imports(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder()
    first = checkpoint_folder(folder, tmp_path)
    monkeypatch.setattr(import_cache, "__version__", "999")
    assert checkpoint_folder(folder, tmp_path) != first


def test_unchanged_files_are_not_read_again(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, cache = make_folder(), tmp_path / "cache"
    first = checkpoint_folder(folder, cache)
    with monkeypatch.context() as patch:
        patch.setattr(import_cache, "_digest", _never)
        assert checkpoint_folder(folder, cache) == first
    [known] = (cache / "digests").iterdir()
    known.write_text("nonsense")
    assert checkpoint_folder(folder, cache) == first
    change_json(folder / "generation_config.json", num_beams=3)
    assert checkpoint_folder(folder, cache) != first


def test_one_of_two_concurrent_imports_is_kept(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder()

    def import_concurrently(source: Path, destination: Path, name: str) -> None:
        monkeypatch.setattr("model.interop.marian_import.import_marian", import_marian)
        checkpoint_folder(folder, tmp_path)
        import_marian(source, destination, name)

    monkeypatch.setattr("model.interop.marian_import.import_marian", import_concurrently)
    kept = checkpoint_folder(folder, tmp_path)
    assert load_checkpoint(kept).config.name == "opus-mt"
    assert list(kept.parent.iterdir()) == [kept]


def test_a_failed_import_leaves_no_files(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    (folder / "vocab.json").unlink()
    with pytest.raises(CheckpointError, match=r"vocab\.json"):
        checkpoint_folder(folder, tmp_path / "cache")
    assert list((tmp_path / "cache" / "marian").iterdir()) == []


def test_a_read_only_cache_is_reported_in_one_line(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder()
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"cannot be cached in .*file/marian.*--cache"):
        checkpoint_folder(folder, tmp_path / "file")

    def read_only(**_: object) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    kept = checkpoint_folder(folder, tmp_path / "cache")
    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    assert checkpoint_folder(folder, tmp_path / "cache") == kept  # read, not written
    change_json(folder / "generation_config.json", num_beams=2)
    with pytest.raises(
        CheckpointError, match=r"\(Read-only file system\); set another folder with --cache"
    ):
        checkpoint_folder(folder, tmp_path / "cache")


def test_the_cache_is_the_users_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache() == Path("/somewhere/attend")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_cache() == Path("/home/me/.cache/attend")


def test_without_a_home_the_flag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> NoReturn:
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(CheckpointError, match="--cache"):
        default_cache()


def test_verbs_take_folders(
    attend: Attend, make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder()
    corpus = tmp_path / "test.tsv"
    corpus.write_text("the weather is nice\tle temps est beau\n", encoding="utf-8")
    cache = ("--cache", tmp_path / "cache")
    translated = attend("translate", "--checkpoint", folder, *cache, stdin="the house\n")
    assert translated.exit_code == 0, translated.stderr
    [kept] = (tmp_path / "cache" / "marian").iterdir()
    monkeypatch.setenv("ATTEND_CACHE", str(tmp_path / "cache"))
    assert attend("translate", "--checkpoint", kept, stdin="the house\n").stdout == (
        translated.stdout
    )
    evaluated = attend("evaluate", "--checkpoint", folder, corpus)
    assert evaluated.exit_code == 0, evaluated.stderr
    assert "name: opus-mt" in attend("inspect", folder).stdout


def test_libretranslates_packages_are_served_in_place(tmp_path: Path) -> None:
    """A folder of packages, installed and as archives."""
    packages = tmp_path / "packages"
    write_package(packages / "translate-en_fr-1_9")
    write_package(packages / "fr_en", from_code="fr", to_code="en")
    pack(
        write_package(tmp_path / "en_de", to_code="de"), packages / "translate-en_de-1_0.argosmodel"
    )
    (packages / "README.txt").write_text("not a model")
    write_package(packages / "sbd", type="sbd")
    usable, unusable = find_checkpoints(
        packages, partial(checkpoint_folder, cache=tmp_path / "cache")
    )
    assert {one.config.name: list(one.config.directions) for one in usable} == {
        "fr_en": [("fr", "en")],
        "translate-en_de-1_0": [("en", "de")],
        "translate-en_fr-1_9": [("en", "fr")],
    }
    [sbd] = unusable
    assert "splits sentences by itself" in sbd.reason
