"""Arrays of numbers in a response, written as nested lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Lists: TypeAlias = Iterator["Lists"] | list[float]


class NestedNumbers:
    """An array [..., n] whose lists are made a row at a time, when it is written as JSON.

    As lists of Python's numbers, it would take eight times the memory.
    """

    def __init__(self, values: NDArray[np.float32], decimals: int) -> None:
        self._values = values
        self._decimals = decimals

    def lists(self) -> Lists:
        """Return it as nested iterators over lists, rounded."""
        return self._lists(self._values)

    def _lists(self, values: NDArray[np.float32]) -> Lists:
        if values.ndim > 1:
            return (self._lists(one) for one in values)
        rounded: list[float] = values.astype(np.float64).round(self._decimals).tolist()
        return rounded

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.is_instance_schema(cls)


def written(value: str | NestedNumbers) -> str | Lists:
    """Return what is written of a value that may be such an array.

    (Pydantic would take an iterator in a union for a list, and make it at once.)
    """
    return value if isinstance(value, str) else value.lists()
