"""How numba compiles the CPU engine's kernels."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from numba import typeof
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.types.misc import unliteral

import model.engine.cpu.kernels.compiling.llvm  # noqa: F401  sets what numba compiles for
from model.engine.cpu.kernels.cache import CACHE_FOLDER, compiling
from model.engine.cpu.kernels.compiling.linking import link_by_address
from model.engine.cpu.kernels.compiling.overloads import BARE, KernelCache, has_wrapper
from model.engine.cpu.kernels.target import ONLY_COMPILES, TARGET

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


class Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """A compiled function, with the code that unpacks Python's arguments only if Python calls it.

    This code takes a third of the time: the engine's records have more than a hundred arrays.
    Numba would also compile a function anew for each constant that a kernel passes to it.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        options = compiler_options(**options)
        plain = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, BARE: False}
        super().__init__(function, targetoptions=options | plain)
        if CACHE_FOLDER:
            self._cache = KernelCache(function, self.targetoptions)
        self.called: dict[tuple[str, ...], tuple[Any, ...]] = {}
        """The types, by signature, with which Python called the kernel."""

    def call(self, signature: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Call the kernel with arguments of this signature."""
        if signature not in self.called:
            self.called[signature] = tuple(map(typeof, arguments))
        return self(*arguments)

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


def compiler_options(fastmath: object, nogil: bool = True) -> dict[str, object]:
    """Return the options of `numba`'s decorators."""
    return {"nogil": nogil, "error_model": "numpy", "fastmath": fastmath}
