"""How the CPU engine's kernels are compiled: ahead of their use, to run without the GIL."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.types.misc import unliteral

from model.engine.cpu.kernels.cache import (
    BARE,
    CACHE_FOLDER,
    KernelCache,
    compiling,
    has_wrapper,
)
from model.engine.cpu.kernels.linking import link_by_address
from model.engine.cpu.kernels.target import ONLY_COMPILES, TARGET

Function = TypeVar("Function", bound=Callable[..., Any])


_log = logging.getLogger(__name__)


class _Announcement(event.Listener):  # type: ignore[misc]
    """Logs the first compilation of a process, to explain the silence."""

    def __init__(self) -> None:
        self._logged = False

    def on_start(self, _event: event.Event) -> None:
        """Called when a kernel is not in the cache."""
        if not self._logged:
            self._logged = True
            target = TARGET.name if TARGET else "this processor"
            _log.warning("compiling kernels for %s; cached in %s", target, CACHE_FOLDER)

    def on_end(self, _event: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Announcement())


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function, with the code that unpacks Python's arguments only if Python calls it.

    This code takes a third of the time: the engine's records have more than a hundred arrays.
    Numba would also compile a function anew for each constant that a kernel passes to it.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, object]) -> None:
        plain = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, BARE: False}
        super().__init__(function, targetoptions=options | plain)
        if CACHE_FOLDER:
            self._cache = KernelCache(function, self.targetoptions)

    def get_call_template(self, arguments: Any, named: Any) -> Any:
        """Called by the compiler where another kernel calls this one."""
        arguments = tuple(map(unliteral, arguments))
        named = {name: unliteral(one) for name, one in named.items()}
        with global_compiler_lock:
            self.targetoptions[BARE] = True
            try:
                return super().get_call_template(arguments, named)
            finally:
                self.targetoptions[BARE] = False

    def compile(self, signature: Any) -> Any:
        """Compile, or load from the cache, unless that is done. Other processes wait meanwhile."""
        arguments = tuple(normalize_signature(signature)[0])
        with global_compiler_lock:
            found = self.overloads.get(arguments)
            if found and (self.targetoptions[BARE] or has_wrapper(found)):
                return found.entry_point
            with compiling(self.py_func):
                self.overloads.pop(arguments, None)
                return super().compile(signature)

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        """Called where Python calls the kernel with new types; returns what is called instead."""
        compiled = super()._compile_for_args(*arguments, **named)
        return (lambda *_: 1) if ONLY_COMPILES else compiled

    def add_overload(self, result: Any) -> None:
        """Add compiled code, which Python can call only if it has the wrapper for it."""
        if not hasattr(result.library, "offers"):  # not from the cache
            link_by_address(self, result)
        if has_wrapper(result) and not ONLY_COMPILES:
            super().add_overload(result)
        else:
            self.overloads[tuple(result.signature.args)] = result


def kernel(function: Function) -> Function:
    """Compile with strict IEEE arithmetic, on first call for each set of argument types."""
    return _compiled(function, fastmath=False)


def brief_kernel(function: Function) -> Function:
    """For kernels too short to justify releasing the GIL, which takes milliseconds to regain."""
    return _compiled(function, fastmath=False, nogil=False)


def contracted_kernel(function: Function) -> Function:
    """Compile so that a product and the sum that it is added to may be rounded once."""
    return _compiled(function, fastmath={"contract"})


def compiler_options(fastmath: object, nogil: bool = True) -> dict[str, object]:
    """Return the options of `numba`'s decorators."""
    return {"nogil": nogil, "error_model": "numpy", "fastmath": fastmath}


def _compiled(function: Function, fastmath: object, nogil: bool = True) -> Function:
    return cast(Function, Kernel(function, compiler_options(fastmath, nogil)))
