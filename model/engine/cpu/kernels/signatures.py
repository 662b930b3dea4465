"""The types of a kernel's arguments, in which compiled code may not differ from its caller.

As numba distinguishes them, by the elements, dimensions and layout of arrays.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

Signature = tuple[str, ...]

_NUMBERS = {int: "int64", float: "float64", bool: "bool"}


def signature_of(arguments: tuple[Any, ...]) -> Signature:
    """Return a name of the type of each argument."""
    return tuple(
        [_of_record(one) if isinstance(one, tuple) else _of_value(one) for one in arguments]
    )


def _of_value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        traits = layout + "w" * flags.writeable + "u" * (not flags.aligned)
        return f"{value.dtype}[{value.ndim}{traits}]"
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}({','.join(map(_of_value, value))})"
    if isinstance(value, np.generic):
        return str(value.dtype)
    return _NUMBERS.get(type(value)) or type(value).__qualname__


def _trace(value: Any) -> Any:
    """Return what `_has_trace` recognises a value by, without keeping its arrays."""
    if isinstance(value, np.ndarray):
        return weakref.ref(value)
    if isinstance(value, tuple):
        return type(value), tuple(map(_trace, value))
    return type(value)


def _has_trace(value: Any, trace: Any) -> bool:
    """Whether it is of the same types, with the same arrays."""
    if isinstance(trace, weakref.ref):
        return trace() is value
    if isinstance(trace, tuple):
        kind, parts = trace
        return type(value) is kind and all(map(_has_trace, value, parts))
    return type(value) is trace


_KNOWN: dict[int, tuple[Any, str]] = {}
"""Traces and types of records by their addresses.

Engines pass the same records to every step: the hundred arrays of each are read once.
"""


def _of_record(record: tuple[Any, ...]) -> str:
    key = id(record)
    trace, name = _KNOWN.get(key, (None, ""))
    # A later record may be at the address of one that is gone.
    if trace and _has_trace(record, trace):
        return name
    name = _of_value(record)
    first = next((one for one in record if isinstance(one, np.ndarray)), None)
    if first is not None:
        _KNOWN[key] = _trace(record), name
        weakref.finalize(first, _KNOWN.pop, key, None).atexit = False
    return name
