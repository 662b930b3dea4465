"""Where compiled kernels are kept: under a digest of their sources, wherever these are.

Numba keys its cache by the path of a source file, and looks at that file alone. A kernel also
contains the kernels that it calls and constants of other modules, and the same sources have other
paths in a checkout, a wheel and an image. Here the key is the text of a module and of all modules
that it imports, directly or not, from the packages that kernels use; numba adds the target, which
is a kind of processor (`target`), and the types. A wheel may bring compiled kernels.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import Any

_SOURCES = Path(__file__).parents[4]
"""The folder that holds the package `model`."""

SHIPPED_FOLDER = Path(__file__).parents[1] / "compiled"
"""Kernels that a wheel brings, as in `CACHE_FOLDER`; see setup.py."""

_PACKAGES = ("model.engine.", "model.decoding.")
"""Kernels take functions, constants and types from these alone, as a test checks."""

_IMPORT = re.compile(r"^\s*(?:from|import)\s+(model[\w.]*)(?:\s+import\s+(\([^)]*\)|.*))?", re.M)


def kernel_folder() -> Path | None:
    """Return where compiled kernels are kept, None if they cannot be.

    If that folder is not writable, as in a container, this process uses one of its own that links
    to it.
    """
    folder = None
    try:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(root) / "attend" / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # the second where a user has no home
        return _private_folder(folder)


def _private_folder(folder: Path | None) -> Path | None:
    """Make a folder that is removed at exit, with links to the compiled kernels.

    In memory, as in a container, copies would take 15 MB. Numba replaces files, so a kernel that is
    compiled again replaces its link.
    """
    try:
        private = Path(mkdtemp(prefix="attend-kernels-"))
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        if folder and folder.is_dir():
            shutil.copytree(folder.resolve(), private, copy_function=os.symlink, dirs_exist_ok=True)
    except OSError:
        return None
    return private


CACHE_FOLDER = kernel_folder()


@cache
def sources_digest(source: Path) -> str:
    """Return a digest of numba's version, a module, and those of `_PACKAGES` that it imports.

    Without this one, on which no compiled code depends.
    """
    found = {Path(__file__): b""}
    pending = [source]
    while pending:
        file = pending.pop()
        if file not in found:
            found[file] = file.read_bytes()
            pending.extend(_imports(file))
    digest = hashlib.sha256(version("numba").encode())
    for text in sorted(found.values()):
        digest.update(hashlib.sha256(text).digest())
    return digest.hexdigest()[:16]


@cache
def _imports(source: Path) -> list[Path]:
    """Return the modules of `_PACKAGES` that a module imports."""
    files = []
    for module, names in _IMPORT.findall(source.read_text("utf-8")):
        if not f"{module}.".startswith(_PACKAGES):
            continue
        for name in (module, *(f"{module}.{one}" for one in re.findall(r"\w+", names))):
            path = _SOURCES / name.replace(".", "/")
            files.extend([path.with_suffix(".py"), path / "__init__.py"])
    return [file for file in files if file.is_file()]


@contextmanager
def compiling(function: Callable[..., Any]) -> Iterator[None]:
    """Wait until no other process compiles this kernel, so that each is compiled once.

    Ranges of one file are locked: a range is free as soon as its process has ended. A kernel waits
    only for those that it calls, so no two processes wait for each other.
    """
    if CACHE_FOLDER is None:
        yield
        return
    name = f"{function.__module__}.{function.__qualname__}"
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
    with suppress(OSError):  # a file system without locks
        fcntl.lockf(_lock_file(), fcntl.LOCK_EX, 1, start)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.lockf(_lock_file(), fcntl.LOCK_UN, 1, start)


@cache
def _lock_file() -> int:
    """Open the file of all locks; closing it would release those of the whole process."""
    return os.open(Path(CACHE_FOLDER or "", "lock"), os.O_RDWR | os.O_CREAT)
