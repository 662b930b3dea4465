"""A safetensors file, a tensor at a time, so that reading one never takes the memory of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.errors import CheckpointError


class TensorFile(Mapping[str, Tensor]):
    """Name → tensor, on the CPU; each is read anew whenever it is asked for.

    Raises `CheckpointError` at once for a file that is missing, truncated or something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.open("rb").close()  # safetensors reports whatever is amiss as a missing file
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from None
        with self._open() as file:
            self._names = dict.fromkeys(file.keys())

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise KeyError(name)
        with self._open() as file:
            tensor: Tensor = file.get_tensor(name)
            return tensor

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            with safe_open(self._path, framework="pt") as file:
                yield file
        except (SafetensorError, OSError) as error:
            reason = " ".join(str(error).split())
            raise CheckpointError(
                f"{self._path}: damaged or not a safetensors file: {reason}"
            ) from None
