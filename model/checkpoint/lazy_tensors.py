"""Tensors of files by name, each read when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class LazyTensors(Mapping[str, T]):
    """Name → tensor, read on each access and at no other time: all names are known before."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    @abstractmethod
    def _read(self, name: str) -> T:
        """Return the tensor with one of the names."""

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
