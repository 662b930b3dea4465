"""How the CPU engine's kernels are compiled: ahead of their use, to run without the GIL."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from model.engine.cpu.kernels.cache import CACHE_FOLDER, KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


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
    dispatcher = numba.njit(**options)(function)
    if CACHE_FOLDER:
        dispatcher._cache = KernelCache(function)  # what cache=True does, with numba's own
    return cast(Function, dispatcher)
