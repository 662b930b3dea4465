"""How kernels call each other: small ones are inlined, large ones are called by their address.

Numba copies the code of a function into each of its callers, and optimises it there anew, so that
LLVM can inline it. LLVM inlines no large function, and the engine's were compiled once for every
kernel above them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from llvmlite.binding import parse_assembly
from numba.core.caching import CompileResultCacheImpl

LARGE = 16_384
"""Bytes of compiled code, several times the largest function that LLVM inlines."""


class Callee(NamedTuple):
    """A large kernel: the names of its module and its own, and the types of its arguments."""

    module: str
    name: str
    arguments: tuple[Any, ...]


Callees = Mapping[str, Callee]
"""Large kernels by the symbols of their code."""


def link_by_address(kernel: Any, result: Any) -> None:
    """Keep new code out of its callers if it is large."""
    library, function = result.library, kernel.py_func
    library.calls = {}
    for one in library._linking_libraries:
        library.calls |= getattr(one, "offers", {})
    library.offers = library.calls
    callee = Callee(function.__module__, function.__qualname__, tuple(result.signature.args))
    if len(library._get_compiled_object()) > LARGE and dispatcher_of(callee) is kernel:
        library._shared_module = parse_assembly("")
        library.offers = {result.fndesc.llvm_func_name: callee}


def dispatcher_of(callee: Callee) -> Any:
    """Return what compiles a callee; None if its module has no such kernel."""
    kernel = getattr(sys.modules.get(callee.module), callee.name, None)
    return getattr(kernel, "dispatcher", None)


def _are_loaded(callees: Callees) -> bool:
    """Load kernels from the cache; False if the code of one has another symbol there."""
    for symbol, one in callees.items():
        if (kernel := dispatcher_of(one)) is None:
            return False
        kernel.get_call_template(one.arguments, {})
        if kernel.overloads[one.arguments].fndesc.llvm_func_name != symbol:
            return False
    return True


class LinkedResult(CompileResultCacheImpl):  # type: ignore[misc]
    """The cache entry of a compiled kernel: numba's data, and the large kernels that it calls."""

    def reduce(self, result: Any) -> Any:
        description = result.fndesc
        symbols = {description.llvm_func_name, description.llvm_cpython_wrapper_name}
        defined = {one.name for one in result.library.get_defined_functions()} & symbols
        return defined, result.library.calls, result.library.offers, super().reduce(result)

    def rebuild(self, context: Any, payload: Any) -> Any:
        """Return the kernel; None if one that it calls was compiled again."""
        defined, calls, offers, data = payload
        if not _are_loaded(calls):
            return None
        context.codegen()._engine._defined_symbols |= defined
        result = super().rebuild(context, data)
        result.library.calls, result.library.offers = calls, offers
        return result
