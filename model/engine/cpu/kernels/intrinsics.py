"""What kernels take from `compiling`, without importing it before the compiler asks.

A compiled kernel contains their code, so a process that compiles nothing needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numba import carray

    from model.engine.cpu.kernels.compiling.atomics import (
        add_word,
        pause,
        pointer,
        read_word,
        write_word,
        yield_processor,
    )
    from model.engine.cpu.kernels.compiling.flat import (
        add_exponentials,
        any_above,
        dot_products,
        exponentiate,
        get,
        maximum,
        put,
        squares,
        total,
        weighted_sum_16,
        weighted_sum_64,
    )
    from model.engine.cpu.kernels.compiling.products import by_groups, multiply, prepare

__all__ = [
    "add_exponentials", "add_word", "any_above", "by_groups", "carray", "dot_products",
    "exponentiate", "get", "maximum", "multiply", "pause", "pointer", "prepare", "put",
    "read_word", "squares", "total", "weighted_sum_16", "weighted_sum_64", "write_word",
    "yield_processor",
]  # fmt: skip

_COMPILING = "model.engine.cpu.kernels.compiling"
_MODULES = ("numba", f"{_COMPILING}.atomics", f"{_COMPILING}.flat", f"{_COMPILING}.products")


class _Intrinsic:
    """A function that only compiled code can call."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba's compiler knows the function."""
        from numba.core.registry import cpu_target

        modules = map(import_module, _MODULES)
        function = next(vars(one)[self._name] for one in modules if self._name in vars(one))
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(function)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> _Intrinsic:
        if name in __all__:
            return _Intrinsic(name)
        raise AttributeError(name)
