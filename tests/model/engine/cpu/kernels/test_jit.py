from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from model.engine.cpu.kernels import jit


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where caches are kept, here; temporary folders, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "cache" / "attend" / "kernels"


def raises(*arguments: Any, **named: Any) -> Any:
    raise PermissionError


def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    calls: list[Callable[[], object]] = []

    def register(function: Callable[..., object], *arguments: Any, **named: Any) -> None:
        calls.append(lambda: function(*arguments, **named))

    monkeypatch.setattr(atexit, "register", register)
    return calls


def test_kernels_are_kept_in_the_users_cache(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = jit._cache_folder()
    assert folder is not None
    assert folder.parent == root
    assert list(folder.iterdir()) == []
    assert jit._cache_folder() == folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: root.parents[2] / "home")
    elsewhere = root.parents[2] / "home" / ".cache" / "attend" / "kernels" / folder.name
    assert jit._cache_folder() == elsewhere


def test_every_state_of_the_sources_has_a_folder_of_its_own(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(jit, "__file__", str(sources / "jit.py"))
    folders = [jit._cache_folder()]
    for name, text in (("jit.py", "a"), ("tile.py", "a"), ("tile.py", "b")):
        (sources / name).write_text(text)
        folders.append(jit._cache_folder())
    monkeypatch.setattr(numba, "__version__", "another")
    folders.append(jit._cache_folder())
    assert len(set(folders)) == 5


def test_where_nothing_can_be_written_links_to_what_is_there_are_used(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = jit._cache_folder()
    assert kept is not None
    (kept / "module").mkdir()
    (kept / "module" / "kernel.nbc").write_text("compiled")
    monkeypatch.setattr(jit, "TemporaryFile", raises)
    calls = at_exit(monkeypatch)
    private = jit._cache_folder()
    assert private is not None
    assert private != kept
    assert (private / "module" / "kernel.nbc").is_symlink()
    assert (private / "module" / "kernel.nbc").read_text() == "compiled"
    (private / "module" / "another.nbc").write_text("compiled")
    assert [file.name for file in (kept / "module").iterdir()] == ["kernel.nbc"]
    for call in calls:
        call()
    assert not private.exists()
    assert (kept / "module" / "kernel.nbc").read_text() == "compiled"


def test_kernels_behind_links_are_used_and_what_is_compiled_anew_takes_their_place(
    tmp_path: Path,
) -> None:
    """In processes of their own: one that may write to the cache, and some that may not."""
    file = tmp_path / "kernel.py"
    file.write_text(
        "import sys, tempfile\n"
        "def no(*_, **__): raise PermissionError\n"
        "allowed = tempfile.TemporaryFile\n"
        "if 'confined' in sys.argv: tempfile.TemporaryFile = no\n"
        "from model.engine.cpu.kernels import jit\n"
        "tempfile.TemporaryFile = allowed\n"
        "@jit.kernel\n"
        "def double(x): return 2 * x\n"
        "assert double(21) == 42\n"
    )
    cache = tmp_path / "cache"
    (tmp_path / "temporary").mkdir()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(cache),
        "TMPDIR": str(tmp_path / "temporary"),
    }

    def run(*arguments: str) -> str:
        command = [sys.executable, str(file), *arguments]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stderr

    def kept() -> dict[Path, bytes]:
        return {one: one.read_bytes() for one in cache.rglob("*") if one.is_file()}

    assert run().startswith("compiling kernels")
    before = kept()
    assert run("confined") == ""
    os.utime(file, (1, 1))
    assert run("confined") == ""
    file.write_text(file.read_text() + "assert double(4) == 8\n")
    assert run("confined").startswith("compiling kernels")
    assert kept() == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_where_there_is_no_place_for_a_cache_an_empty_one_is_made(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.parents[1].write_text("not a folder")
    calls = at_exit(monkeypatch)
    folder = jit._cache_folder()
    assert folder is not None
    assert list(folder.iterdir()) == []
    for call in calls:
        call()
    assert not folder.exists()


def test_a_user_without_a_home_has_a_cache_all_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    calls = at_exit(monkeypatch)
    folder = jit._cache_folder()
    assert folder is not None
    assert folder.is_relative_to(root.parents[2])
    for call in calls:
        call()


def test_where_nothing_at_all_can_be_written_nothing_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "TemporaryFile", raises)
    monkeypatch.setattr(jit, "mkdtemp", raises)
    assert jit._cache_folder() is None


def test_a_kernel_works_where_nothing_is_kept(tmp_path: Path) -> None:
    """In a process of its own, since the folder is chosen once."""
    file = tmp_path / "kernel.py"
    file.write_text(
        "import tempfile\n"
        "def no(*_, **__): raise PermissionError\n"
        "tempfile.mkdtemp = tempfile.TemporaryFile = no\n"
        "from model.engine.cpu.kernels import jit\n"
        "assert jit.CACHE_FOLDER is None\n"
        "@jit.kernel\n"
        "def double(x): return 2 * x\n"
        "assert double(21) == 42\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(file)], env=environment, check=True)
    assert sorted(tmp_path.iterdir()) == [file]


def test_the_first_compilation_is_announced_and_later_ones_are_not(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(
        "from model.engine.cpu.kernels import jit\n"
        "@jit.kernel\n"
        "def double(x): return 2 * x\n"
        "double(21), double(2.1)\n"
    )
    cache = tmp_path / "cache"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(cache),
    }
    said = [
        subprocess.run(
            [sys.executable, str(file)], env=environment, check=True, capture_output=True, text=True
        ).stderr.splitlines()
        for _ in range(2)
    ]
    [[line], from_the_cache] = said
    assert line.startswith("compiling kernels")
    assert str(cache) in line
    assert from_the_cache == []
