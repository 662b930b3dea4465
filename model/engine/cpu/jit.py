"""How this package's kernels are compiled: ahead of their use, without the interpreter's lock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

def _cache_folder() -> Path | None:
    """Where compiled kernels are kept, None if they cannot be.

    One folder for each state of this package's sources, since numba looks only at the file that a
    kernel is in and would go on using others that were compiled into it.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "attend" / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


_CACHE_FOLDER = _cache_folder()
if _CACHE_FOLDER:
    numba.config.CACHE_DIR = str(_CACHE_FOLDER)

REORDERED = {"contract", "reassoc", "nsz"}
"""Lets a compiler vectorise sums. Their order is then fixed by the compiled code and by how many
terms there are, so a row gives the same bits whatever is computed beside it."""


def kernel(function: Function) -> Function:
    """Compile with strict IEEE arithmetic, on first call for each set of argument types."""
    return _compiled(function, fastmath=False)


def reordered_kernel(function: Function) -> Function:
    """Compile so that sums may be vectorised; see `REORDERED`."""
    return _compiled(function, fastmath=REORDERED)


def compiler_options(fastmath: object) -> dict[str, object]:
    """For `numba`'s decorators."""
    return {"nogil": True, "error_model": "numpy", "fastmath": fastmath}


def _compiled(function: Function, fastmath: object) -> Function:
    return cast(Function, numba.njit(**compiler_options(fastmath), cache=_CACHE_FOLDER is not None)(function))
