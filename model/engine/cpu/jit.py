"""How this package's kernels are compiled: ahead of their use, without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

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
    return cast(Function, numba.njit(**compiler_options(fastmath), cache=True)(function))
