"""How the CPU engine's kernels are compiled: ahead of their use, to run without the GIL."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from model.decoding import constraints, rules

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> Path | None:
    """Return where compiled kernels are cached, None if they cannot be.

    One folder for each state of the sources, since numba checks only the file of a kernel and would
    keep using outdated ones that were compiled into it. If that folder is not writable, as in a
    container, this process uses one of its own that links to it.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))  # of model/engine/cpu
    for source in (*sources, Path(constraints.__file__), Path(rules.__file__)):
        digest.update(source.read_bytes())
    folder = None
    try:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(root) / "attend" / "kernels" / digest.hexdigest()[:16]
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


CACHE_FOLDER = _cache_folder()
if CACHE_FOLDER:
    numba.config.CACHE_DIR = str(CACHE_FOLDER)

_log = logging.getLogger(__name__)


class _Announcement(event.Listener):  # type: ignore[misc]
    """Logs the first compilation of a process, to explain the minutes of silence."""

    def __init__(self) -> None:
        self._logged = False

    def on_start(self, _event: event.Event) -> None:
        """Called when a kernel is not in the cache."""
        if not self._logged:
            self._logged = True
            _log.warning(
                "compiling kernels for this processor, one to several minutes; cached in %s",
                CACHE_FOLDER,
            )

    def on_end(self, _event: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Announcement())

REORDERED = {"contract", "reassoc", "nsz"}
"""Lets a compiler vectorise sums. Their order then depends on the compiled code and the number of
terms, so a row has the same bits in any batch."""


def kernel(function: Function) -> Function:
    """Compile with strict IEEE arithmetic, on first call for each set of argument types."""
    return _compiled(function, fastmath=False)


def brief_kernel(function: Function) -> Function:
    """For kernels too short to justify releasing the GIL, which takes milliseconds to regain."""
    return _compiled(function, fastmath=False, nogil=False)


def reordered_kernel(function: Function) -> Function:
    """Compile so that sums may be vectorised; see `REORDERED`."""
    return _compiled(function, fastmath=REORDERED)


def contracted_kernel(function: Function) -> Function:
    """Compile so that a product and the sum that it is added to may be rounded once."""
    return _compiled(function, fastmath={"contract"})


def compiler_options(fastmath: object, nogil: bool = True) -> dict[str, object]:
    """Return the options of `numba`'s decorators."""
    return {"nogil": nogil, "error_model": "numpy", "fastmath": fastmath}


def _compiled(function: Function, fastmath: object, nogil: bool = True) -> Function:
    options = compiler_options(fastmath, nogil)
    return cast(Function, numba.njit(**options, cache=CACHE_FOLDER is not None)(function))
