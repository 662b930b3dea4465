"""Marian's binary model format, version 1: named tensors, among them 8-bit matrices with a scale.

All numbers are little-endian. A header (version, number of items) is followed by a table (for each
item the lengths of its name, shape and data, and its type), the names, the shapes, padding up to a
multiple of 256, and the data of the items one after another. The files come from the network:
every length is checked before it is used, and nothing in them is executed.
"""

import math
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from model.checkpoint.tensor_file import Quantized
from model.errors import CheckpointError, damaged

OPTIONS: Final = "special:model.yml"
"""The item that holds the model's options, as YAML that ends with a NUL."""

_VERSION = 1
_MAX_ITEMS = 10_000
_MAX_DIMENSIONS = 4
_MAX_OPTIONS = 64 * 1024
_MAX_GAP = 256

_INT8, _FLOAT32, _INTGEMM8 = 0x0101, 0x0404, 0x4101
_TYPE_NAMES = {
    0x0102: "int16", 0x0104: "int32", 0x0108: "int64", 0x0402: "float16", 0x0408: "float64",
    0x4102: "intgemm16", 0x0802: "packed for FBGEMM", 0x1801: "packed for FBGEMM (AVX2)",
    0x2801: "packed for FBGEMM (AVX512)",
}  # fmt: skip
_TRANSPOSED_EXCEPT = "Wemb"
"""A matrix is stored transposed, [out, in]; embeddings, whose names contain this, as they are."""


Item = NDArray[np.float32] | Quantized
"""A matrix is [in, out] or, if it is quantised, [out, in]; embeddings are [V, D]."""


@dataclass(frozen=True, slots=True)
class BinaryModel:
    """The items of a file by name, and the text of its options."""

    items: dict[str, Item]
    options: bytes


class Reader:
    """Reads a file from the start; every read is checked against its end.

    called  the format, for errors
    """

    def __init__(self, data: memoryview, origin: str, called: str) -> None:
        self.origin = origin
        self._data = data
        self._called = called
        self._at = 0

    @property
    def n_left(self) -> int:
        return len(self._data) - self._at

    def take(self, n_bytes: int, what: str) -> memoryview:
        if n_bytes > self.n_left:
            raise self.error(f"ends within {what}")
        found = self._data[self._at : self._at + n_bytes]
        self._at += n_bytes
        return found

    def numbers(self, layout: str, what: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))

    def text(self, n_bytes: int, what: str) -> str:
        """Return a printable text that ends with a zero; empty if it is not one."""
        written = bytes(self.take(n_bytes, what))
        try:
            found = written[:-1].decode()
        except UnicodeDecodeError:
            return ""
        return found if written[-1:] == b"\0" and found.isprintable() else ""

    def error(self, reason: str) -> CheckpointError:
        reason = f"damaged, or not {self._called}: {reason}"
        return damaged(self.origin, bytes(self._data[:64]), reason)


def read_binary(data: bytes, origin: str) -> BinaryModel:
    """Read the items of a file. Raises `CheckpointError` that names `origin`."""
    reader = Reader(memoryview(data), origin, "Marian's binary format")
    version, n_items = reader.numbers("<QQ", "the header")
    if version != _VERSION:
        raise reader.error(f"version {version}, not {_VERSION}")
    if not 0 < n_items <= _MAX_ITEMS or 32 * n_items > reader.n_left:
        raise reader.error(f"{n_items:,} items")
    table = [reader.numbers("<QQQQ", "the table of items") for _ in range(n_items)]
    names = [_name(reader, n_name) for n_name, _, _, _ in table]
    if len(set(names)) != n_items:
        raise reader.error("two items have the same name")
    shapes = [
        _shape(reader, n_dimensions, name)
        for (_, _, n_dimensions, _), name in zip(table, names, strict=True)
    ]
    [gap] = reader.numbers("<Q", "the padding")
    if gap > _MAX_GAP:
        raise reader.error(f"{gap:,} bytes of padding")
    reader.take(gap, "the padding")
    items: dict[str, Item] = {}
    options = b""
    for (_, kind, _, n_bytes), name, shape in zip(table, names, shapes, strict=True):
        content = reader.take(n_bytes, f"'{name}'")
        if name == OPTIONS:
            if kind != _INT8 or n_bytes > _MAX_OPTIONS or shape != (n_bytes,):
                raise reader.error(f"'{name}' is not a text of at most {_MAX_OPTIONS:,} bytes")
            options = bytes(content).rstrip(b"\0")
        else:
            items[name] = _item(reader, name, kind, shape, content)
    if reader.n_left:
        raise reader.error(f"{reader.n_left:,} bytes after the last item")
    if not options:
        raise reader.error(f"has no {OPTIONS}")
    return BinaryModel(items, options)


def _name(reader: Reader, n_bytes: int) -> str:
    if not (name := reader.text(n_bytes, "a name")):
        raise reader.error("a name is empty or has no end")
    return name


def _shape(reader: Reader, n_dimensions: int, name: str) -> tuple[int, ...]:
    if not 1 <= n_dimensions <= _MAX_DIMENSIONS:
        raise reader.error(f"'{name}' has {n_dimensions:,} dimensions")
    shape = reader.numbers(f"<{n_dimensions}i", f"the shape of '{name}'")
    if min(shape) < 1:
        raise reader.error(f"'{name}' has shape {list(shape)}")
    return shape


def _item(
    reader: Reader, name: str, kind: int, shape: tuple[int, ...], content: memoryview
) -> Item:
    n_elements = math.prod(shape)
    if kind == _FLOAT32:
        if 4 * n_elements > len(content):
            raise reader.error(f"'{name}' is shorter than its shape {list(shape)}")
        values = np.frombuffer(content, "<f4", n_elements).reshape(shape).copy()
        if not np.isfinite(values).all():
            raise reader.error(f"'{name}' holds NaN or infinity")
        return values
    if kind != _INTGEMM8:
        called = _TYPE_NAMES.get(kind, f"type {kind:#06x}")
        raise CheckpointError(
            f"{reader.origin}: '{name}' is {called}; attend reads float32 and intgemm8 items"
        )
    if n_elements + 4 > len(content) or len(shape) != 2:
        raise reader.error(f"'{name}' is shorter than its shape {list(shape)}")
    codes = np.frombuffer(content, np.int8, n_elements)
    if codes.min() == -128:  # the converter writes −127 … 127, which a product may rely on
        raise reader.error(f"'{name}' holds −128")
    [multiplier] = struct.unpack("<f", content[n_elements : n_elements + 4])
    if not (math.isfinite(multiplier) and multiplier > 0):
        raise reader.error(f"the multiplier of '{name}' is {multiplier}")
    stored = shape if _TRANSPOSED_EXCEPT in name else shape[::-1]
    return Quantized(codes.reshape(stored).copy(), 1 / multiplier)
