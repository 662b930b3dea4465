"""The types of a kernel's arguments, in which compiled code may not differ from its caller.

As numba distinguishes them, by the elements, dimensions and layout of arrays.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
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


class _Known:
    """The type of a record that a kernel was called with before, as long as its array lives."""

    def __init__(self, record: tuple[Any, ...], index: int) -> None:
        key = id(record)
        self._array = weakref.ref(record[index], lambda _: _KNOWN.pop(key, None))
        self._index = index
        self._type = type(record)
        self.name = _of_value(record)

    def is_of(self, record: tuple[Any, ...]) -> bool:
        """Whether it is this record, and no later one at the same address."""
        return type(record) is self._type and self._array() is record[self._index]


_KNOWN: dict[int, _Known] = {}
"""Engines pass the same records to every step: the hundred arrays of each are read once."""


def _of_record(record: tuple[Any, ...]) -> str:
    known = _KNOWN.get(id(record))
    if known and known.is_of(record):
        return known.name
    for index in _arrays(record):
        known = _KNOWN[id(record)] = _Known(record, index)
        return known.name
    return _of_value(record)


def _arrays(record: tuple[Any, ...]) -> Iterator[int]:
    return (index for index, one in enumerate(record) if isinstance(one, np.ndarray))
