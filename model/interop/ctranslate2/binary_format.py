"""CTranslate2's model.bin, versions 5 and 6: named variables, also 8-bit matrices with scales.

All numbers are little-endian. A header (version, the specification's name and revision, the number
of variables) is followed by the variables, each with its name, shape, type and data, and by aliases
of variables that are stored once. The facts are from OpenNMT/CTranslate2 4.8,
`python/ctranslate2/specs/model_spec.py` and `src/models/model.cc`. Files come from the network:
every length is checked before it is used, and nothing in them is executed.
"""

import math
import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from model.errors import CheckpointError
from model.interop.npz.binary_format import Reader

VERSIONS: Final = (5, 6)

_MAX_VARIABLES = 100_000
_MAX_DIMENSIONS = 4
_MAX_NAME = 512
_TYPES = ("<f4", "i1", "<i2", "<i4", "<f2", "bfloat16")
_GLOBAL_INT16_SCALE = 1000.0
"""Scale of int16 matrices in old files, which do not store one."""


@dataclass(frozen=True, eq=False)
class Variables(Mapping[str, NDArray[np.float32]]):
    """The variables of a file; values are read from it on access, as float32.

    A quantised matrix has integers q and, under its name and `_scale`, s: one number, or one for
    each row. Its values are q / s.

    version   of the binary format
    spec      the specification's name, such as `TransformerSpec`, and `revision`
    """

    origin: str
    version: int
    spec: str
    revision: int
    stored: Mapping[str, tuple[str, tuple[int, ...], memoryview]] = field(repr=False)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        kind = self.stored[name][0]
        values = self._numbers(name).astype(np.float32)
        if kind in ("i1", "<i2") and values.ndim == 2:
            values /= self._scale(name, len(values))
        if values.size and not np.isfinite((values.min(), values.max())).all():
            raise CheckpointError(f"{self.origin}: '{name}' holds NaN or infinity")
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable; that of a number is empty."""
        return self.stored[name][1]

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a variable that is one number. Raises `CheckpointError` if it is not."""
        if name not in self.stored:
            return default
        if self.shape(name):
            raise CheckpointError(f"{self.origin}: '{name}' is not one number")
        return float(self[name])

    def text(self, name: str, default: str) -> str:
        """Return a variable that is a text, as in version 5."""
        if name not in self.stored:
            return default
        return self._numbers(name).tobytes().decode("utf-8", errors="replace")

    def same(self, name: str, other: str) -> bool:
        """Whether two variables are stored once, or have equal values."""
        if self.stored[name] is self.stored[other]:
            return True
        return self.shape(name) == self.shape(other) and np.array_equal(self[name], self[other])

    def _numbers(self, name: str) -> NDArray[Any]:
        kind, shape, data = self.stored[name]
        if kind == "bfloat16":  # float32 without its last two bytes
            raised = np.frombuffer(data, "<u2").astype(np.uint32) << 16
            return raised.view(np.float32).reshape(shape)
        return np.frombuffer(data, kind).reshape(shape)

    def _scale(self, name: str, n_rows: int) -> NDArray[np.float32] | float:
        scale_name = f"{name}_scale"
        if scale_name not in self.stored:
            if self.stored[name][0] == "<i2":
                return _GLOBAL_INT16_SCALE
            raise CheckpointError(f"{self.origin}: '{name}' is int8 without '{scale_name}'")
        scale = self[scale_name].reshape(-1, 1)
        if len(scale) not in (1, n_rows) or not (scale > 0).all():
            raise CheckpointError(
                f"{self.origin}: '{scale_name}' is not a positive number for each row"
            )
        return scale


class _Reader(Reader):
    def number(self, layout: str, what: str) -> int:
        [found] = self.numbers(layout, what)
        return found

    def name(self, what: str) -> str:
        n_bytes = self.number("<H", what)
        if not 1 < n_bytes <= _MAX_NAME:
            raise self.error(f"{what} has {n_bytes:,} bytes")
        if not (found := self.text(n_bytes, what)):
            raise self.error(f"{what} is not a text that ends with a zero")
        return found


def read_binary(path: Path) -> Variables:
    """Map a model.bin into memory and read its table. Raises `CheckpointError`."""
    origin = str(path)
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: an empty file
        reason = error.strerror if isinstance(error, OSError) else "an empty file"
        raise CheckpointError(f"{origin}: {reason}") from None
    reader = _Reader(memoryview(mapped), origin, "CTranslate2's format")
    version = reader.number("<I", "the header")
    if version not in VERSIONS:
        if version < VERSIONS[0]:
            raise CheckpointError(
                f"{origin}: binary version {version}; attend reads {VERSIONS[0]} and "
                f"{VERSIONS[1]}: convert the original model again with a current CTranslate2"
            )
        raise reader.error(f"binary version {version:,}, not {VERSIONS[0]} or {VERSIONS[1]}")
    spec = reader.name("the specification's name")
    revision = reader.number("<I", "the revision")
    n_variables = reader.number("<I", "the number of variables")
    if not 0 < n_variables <= _MAX_VARIABLES:
        raise reader.error(f"{n_variables:,} variables")
    stored: dict[str, tuple[str, tuple[int, ...], memoryview]] = {}
    for _ in range(n_variables):
        name = reader.name("a variable's name")
        if name in stored:
            raise reader.error(f"two variables are called '{name}'")
        stored[name] = _variable(reader, name)
    n_aliases = reader.number("<I", "the number of aliases")
    if n_aliases > _MAX_VARIABLES:
        raise reader.error(f"{n_aliases:,} aliases")
    for _ in range(n_aliases):
        alias, name = reader.name("an alias"), reader.name("a variable's name")
        for suffix in ("", "_scale"):
            if name + suffix in stored:
                stored.setdefault(alias + suffix, stored[name + suffix])
    if reader.n_left:
        raise reader.error(f"{reader.n_left:,} bytes after the last alias")
    return Variables(origin, version, spec, revision, stored)


def _variable(reader: _Reader, name: str) -> tuple[str, tuple[int, ...], memoryview]:
    n_dimensions = reader.number("<B", f"'{name}'")
    if n_dimensions > _MAX_DIMENSIONS:
        raise reader.error(f"'{name}' has {n_dimensions} dimensions")
    shape = tuple(reader.number("<I", f"the shape of '{name}'") for _ in range(n_dimensions))
    kind = reader.number("<B", f"the type of '{name}'")
    if kind >= len(_TYPES):
        raise reader.error(f"'{name}' has type {kind}")
    n_bytes = reader.number("<I", f"the size of '{name}'")
    item_size = 2 if _TYPES[kind] == "bfloat16" else np.dtype(_TYPES[kind]).itemsize
    if n_bytes != math.prod(shape) * item_size:
        raise reader.error(f"'{name}' has {n_bytes:,} bytes, not those of its shape {list(shape)}")
    return _TYPES[kind], shape, reader.take(n_bytes, f"'{name}'")
