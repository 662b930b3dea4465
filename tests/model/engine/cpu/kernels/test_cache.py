import atexit
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from model.engine.cpu.kernels import cache
from model.engine.cpu.kernels.compiling.overloads import KernelCache


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of caches and temporary folders of these tests."""
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
    folder = cache.kernel_folder()
    assert folder == root
    assert list(root.iterdir()) == []
    assert cache.kernel_folder() == folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: root.parents[2] / "home")
    elsewhere = root.parents[2] / "home" / ".cache" / "attend" / "kernels"
    assert cache.kernel_folder() == elsewhere


def test_the_digest_is_of_a_module_and_all_that_it_imports_from_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_SOURCES", tmp_path)
    package = tmp_path / "model" / "engine" / "a"
    package.mkdir(parents=True)
    (tmp_path / "model" / "errors.py").write_text("another package\n")
    texts = {
        "one.py": "from model.engine.a import (\n    two,\n)\nfrom model.errors import four\n",
        "two.py": "import model.engine.a.three\nfrom model.engine.a.two import itself\n",
        "three.py": "SIZE = 1\n",
        "four.py": "from model.engine.a import one\n",
    }

    def digests() -> dict[str, str]:
        cache.sources_digest.cache_clear()
        cache._imports.cache_clear()
        return {name: cache.sources_digest(package / name) for name in texts}

    def changed(name: str) -> set[str]:
        (package / name).write_text(texts[name] + "# another\n")
        after = digests()
        (package / name).write_text(texts[name])
        return {one for one in texts if before[one] != after[one]}

    for name, text in texts.items():
        (package / name).write_text(text)
    before = digests()
    assert len(set(before.values())) == 4
    assert changed("one.py") == {"one.py", "four.py"}
    assert changed("three.py") == set(texts)
    assert changed("four.py") == {"four.py"}
    monkeypatch.setattr(cache, "version", lambda _: "another")
    assert not set(digests().values()) & set(before.values())


def test_digests_are_of_all_that_kernels_depend_on_and_little_more() -> None:
    """A module with kernels imports from the packages that digests cover, and not the engine."""
    found = 0
    for file in Path(cache.__file__).parents[1].rglob("*.py"):
        packages = [f"{name}." for name, _ in cache._IMPORT.findall(file.read_text())]
        if any(name.endswith("jit.") for name in packages):
            found += 1
            assert all(name.startswith(cache._PACKAGES) for name in packages), file
            names = {one.name for one in cache._imports(file)}
            assert not {"engine.py", "protocol.py", "build.py"} & names
    assert found > 8


def test_a_read_only_cache_is_used_through_links(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = cache.kernel_folder()
    assert kept is not None
    (kept / "module").mkdir()
    (kept / "module" / "kernel.nbc").write_text("compiled")
    monkeypatch.setattr(cache, "TemporaryFile", raises)
    calls = at_exit(monkeypatch)
    private = cache.kernel_folder()
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


KERNEL = """
import sys, tempfile
def no(*_, **__): raise PermissionError
allowed = tempfile.TemporaryFile
if 'confined' in sys.argv: tempfile.TemporaryFile = no
from model.engine.cpu.kernels import cache, jit
tempfile.TemporaryFile = allowed
@jit.kernel
def double(x): return 2 * x
assert double(21) == 42
"""


@dataclass
class Processes:
    """Runs a file with a kernel in processes with their own cache and temporary folder."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "temporary").mkdir()
        self.file = self.write("here", KERNEL)

    def write(self, folder: str, text: str) -> Path:
        (self.folder / folder).mkdir(exist_ok=True)
        (self.folder / folder / "kernel.py").write_text(text)
        return self.folder / folder / "kernel.py"

    def start(self, *arguments: str, file: Path | None = None) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "TMPDIR": str(self.folder / "temporary"),
        }
        command = [sys.executable, str(file or self.file), *arguments]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments: str, file: Path | None = None) -> str:
        process = self.start(*arguments, file=file)
        _, error = process.communicate()
        assert process.returncode == 0, error
        return error

    def kept(self, pattern: str = "*") -> dict[Path, bytes]:
        found = (self.folder / "cache").rglob(pattern)
        return {one: one.read_bytes() for one in found if one.is_file()}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the kernel."""
    processes = Processes(tmp_path_factory.mktemp("compiled"))
    assert processes.run().startswith("compiling kernels")
    return processes.folder / "cache"


@pytest.fixture
def processes(tmp_path: Path, compiled: Path) -> Processes:
    shutil.copytree(compiled, tmp_path / "cache")
    return Processes(tmp_path)


def test_kernels_behind_links_are_used_and_replaced_when_compiled_again(
    processes: Processes,
) -> None:
    before = processes.kept()
    assert processes.run("confined") == ""
    os.utime(processes.file, (1, 1))
    assert processes.run("confined") == ""
    processes.file.write_text(KERNEL + "assert double(4) == 8\n")
    assert processes.run("confined").startswith("compiling kernels")
    assert processes.kept() == before
    assert list((processes.folder / "temporary").iterdir()) == []


def test_loading_registers_nothing_that_only_the_compiler_needs(processes: Processes) -> None:
    print_it = 'print("numba.np.linalg" in sys.modules, file=sys.stderr)\n'
    file = processes.write("there", KERNEL + print_it)
    assert processes.run(file=file).endswith("True\n")
    assert processes.run(file=file) == "False\n"


def test_equal_sources_in_another_folder_use_the_compiled_kernels(processes: Processes) -> None:
    before = processes.kept()
    copy = processes.write("there", KERNEL)
    os.utime(copy, (1, 1))
    assert processes.run(file=copy) == ""
    assert processes.kept() == before
    other = processes.write("elsewhere", KERNEL.replace("2 * x", "x + x"))
    assert processes.run(file=other).startswith("compiling kernels")
    assert len(processes.kept("*.nbi")) == 2


def test_damaged_files_are_replaced(processes: Processes) -> None:
    for pattern, size in (("*.nbi", 0), ("*.nbi", 20), ("*.nbc", 1000)):
        for file, content in processes.kept(pattern).items():
            file.write_bytes(content[:size])
        assert "compiling kernels" in processes.run()
    assert processes.run() == ""


def test_a_folder_that_cannot_be_written_costs_a_compilation(processes: Processes) -> None:
    [index] = processes.kept("*.nbi")
    shutil.rmtree(index.parent)
    index.parent.write_text("not a folder")
    unreadable, compiling, unwritable = processes.run().splitlines()
    assert unreadable.startswith(f"{index}: ")
    assert compiling.startswith("compiling kernels")
    assert unwritable.startswith(f"{index.parent}: ")


def test_processes_add_to_one_index_at_the_same_time(processes: Processes) -> None:
    """An entry may be lost and compiled again; none may have the code of another."""
    text = "for x in map(eval, sys.argv[1:]): assert double(x) == x + x\n"
    file = processes.write("there", KERNEL + text)
    values = ("2.5", "2j", "True")
    for process in [processes.start(value, file=file) for value in values]:
        _, error = process.communicate()
        assert process.returncode == 0, error
    processes.run(*values, file=file)
    assert processes.run(*values, file=file) == ""
    assert not processes.kept("*.tmp.*")


def test_without_a_folder_for_the_cache_a_temporary_one_is_made(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.parents[1].write_text("not a folder")
    calls = at_exit(monkeypatch)
    folder = cache.kernel_folder()
    assert folder is not None
    assert list(folder.iterdir()) == []
    for call in calls:
        call()
    assert not folder.exists()


def test_a_user_without_a_home_has_a_cache_all_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    calls = at_exit(monkeypatch)
    folder = cache.kernel_folder()
    assert folder is not None
    assert folder.is_relative_to(root.parents[2])
    for call in calls:
        call()


def test_without_any_writable_folder_nothing_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "TemporaryFile", raises)
    monkeypatch.setattr(cache, "mkdtemp", raises)
    assert cache.kernel_folder() is None


ENGINE_KERNEL = f"""
from model.engine.cpu.kernels import cache
assert cache.CACHE_FOLDER is None
{KERNEL}"""

TRAINING_KERNEL = """
import numpy as np
from model.training.int8 import kernels
codes, scales = np.zeros((1, 2), np.int8), np.zeros(1, np.float32)
kernels.quantise_rows(np.array([[-2, 1]], np.float32), codes, scales)
assert codes.tolist() == [[-127, 64]], codes
"""


@pytest.mark.parametrize("use", [ENGINE_KERNEL, TRAINING_KERNEL])
def test_kernels_work_where_nothing_is_kept(tmp_path: Path, use: str) -> None:
    """Run in a separate process, since the folder is chosen once."""
    file = tmp_path / "kernel.py"
    file.write_text(
        "import tempfile\n"
        "def no(*_, **__): raise PermissionError\n"
        "tempfile.mkdtemp = tempfile.TemporaryFile = no\n" + use
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(file)], env=environment, check=True)
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_process_whose_cache_cannot_grow_names_the_folder_and_works(tmp_path: Path) -> None:
    """A limit on file sizes simulates a full disk."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}
    ended = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; exec "$@"', "-", sys.executable, str(file)],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    lines = ended.stderr.splitlines()
    [warning] = [line for line in lines if "cannot be written" in line]
    assert warning.startswith(f"{tmp_path}/attend/kernels/kernel-")
    assert "Traceback" not in ended.stderr


def test_a_full_disk_costs_a_warning_that_names_the_folder(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def raise_disk_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.FunctionCache.save_overload", raise_disk_full)
    kernel = object.__new__(KernelCache)
    kernel._cache_path = "/kernels"
    kernel.save_overload(None, None)
    assert caplog.messages == ["/kernels: cannot be written: [Errno 28] No space left on device"]
