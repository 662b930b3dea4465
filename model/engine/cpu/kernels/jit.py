"""Kernels: functions that are compiled ahead of their use, to run without the GIL.

A call runs the code of an image (`image`) if one has the kernel for these types of arguments.
Otherwise numba is imported, which loads or compiles the kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from model.engine.cpu.kernels.signatures import Signature, signature_of

if TYPE_CHECKING:
    from model.engine.cpu.kernels.compiling.dispatcher import Dispatcher

Function = TypeVar("Function", bound=Callable[..., Any])

LOADED: dict[tuple[str, Signature], Callable[[Any, tuple[Any, ...], None], Any]] = {}
"""Compiled code of the images that this process has loaded, by kernels' names and types."""


class Kernel:
    """A function of Python that runs as compiled code, or is called by such code."""

    def __init__(self, function: Callable[..., Any], fastmath: object, nogil: bool) -> None:
        functools.update_wrapper(self, function)
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._function = function
        self._options = {"fastmath": fastmath, "nogil": nogil}

    def __call__(self, *arguments: Any) -> Any:
        signature = signature_of(arguments)
        if code := LOADED.get((self.name, signature)):
            return code(None, arguments, None)
        return self.dispatcher.call(signature, arguments)

    @functools.cached_property
    def dispatcher(self) -> Dispatcher:
        """The part that compiles, and holds what numba loads from its cache."""
        from model.engine.cpu.kernels.compiling.dispatcher import Dispatcher

        return Dispatcher(self._function, self._options)

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba's compiler knows the kernel, where another one calls it."""
        return self.dispatcher._numba_type_


def kernel(function: Function) -> Function:
    """Compile with strict IEEE arithmetic, on first call for each set of argument types."""
    return _kernel(function, fastmath=False)


def brief_kernel(function: Function) -> Function:
    """For kernels too short to justify releasing the GIL, which takes milliseconds to regain."""
    return _kernel(function, fastmath=False, nogil=False)


def contracted_kernel(function: Function) -> Function:
    """Compile so that a product and the sum that it is added to may be rounded once."""
    return _kernel(function, fastmath={"contract"})


def _kernel(function: Function, fastmath: object, nogil: bool = True) -> Function:
    return cast(Function, Kernel(function, fastmath, nogil))
