"""Language directions: a list of pairs, or in short any two of a list of languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

Direction: TypeAlias = tuple[str, str]
"""Source and target."""


@dataclass(frozen=True)
class AnyPair(Sequence[Direction]):
    """From any of these languages to any other: in JSON `{"any_of": ["af", "am", …]}`.

    A short form for M2M-100's 9,900 directions. As a sequence, it contains all of them, by source
    in the order of the languages. Raises `ValueError`.
    """

    any_of: tuple[str, ...]

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (stored in a checkpoint)

    def __post_init__(self) -> None:
        if len(self.any_of) < 2:
            raise ValueError("any_of needs two languages")
        if len(set(self.any_of)) != len(self.any_of):
            raise ValueError("any_of contains a language twice")

    def __len__(self) -> int:
        return len(self.any_of) * (len(self.any_of) - 1)

    @overload
    def __getitem__(self, index: int) -> Direction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Direction]: ...

    def __getitem__(self, index: int | slice) -> Direction | list[Direction]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        row, column = divmod(range(len(self))[index], len(self.any_of) - 1)
        return self.any_of[row], self.any_of[column + (column >= row)]

    def __contains__(self, direction: object) -> bool:
        match direction:
            case (source, target):
                return source != target and source in self.any_of and target in self.any_of
        return False
