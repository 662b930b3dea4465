"""Quantises a model in Marian's own format as `marian-conv --gemm-type intgemm8` does.

Marian multiplies in int8 by intgemm if the model file holds such weights; `pymarian` has no program
that writes them. The file has a version, a head of four numbers for each tensor (length of the
name, type, length of the shape, bytes of data), the names, the shapes, and the data, each tensor at
a multiple of 256 bytes. A matrix [in, out] is stored transposed, as round(127 w / max |w|), with
127 / max |w| behind it; intgemm brings it into the order that the processor needs on loading.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VERSION = 1
ALIGNMENT = 256
INT8, FLOAT32, INTGEMM8 = 0x0101, 0x0404, 0x10001
"""Marian's types: signed 0x100, float 0x400 or intgemm 0x10000, and the bytes of a value."""

IN_MULTIPLE, OUT_MULTIPLE = 64, 8


def quantise(model: Path, destination: Path) -> None:
    """Read *.npz, write *.bin. Embeddings stay in float32, as in `marian-conv`.

    Raises `ValueError` for a matrix of a size with which intgemm ends the process.
    """
    with np.load(model) as file:
        arrays = dict(file)
    tensors = [(name, *_stored(name, array)) for name, array in sorted(arrays.items())]
    head = struct.pack("<QQ", VERSION, len(tensors))
    for name, kind, shape, data in tensors:
        head += struct.pack("<4Q", len(name.encode()) + 1, kind, len(shape), len(data))
    head += b"".join(name.encode() + b"\0" for name, *_ in tensors)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in tensors)
    padding = -(len(head) + 8) % ALIGNMENT
    with destination.open("wb") as file:
        file.write(head + struct.pack("<Q", padding) + bytes(padding))
        for *_, data in tensors:
            file.write(data)


def _stored(name: str, array: NDArray[np.generic]) -> tuple[int, tuple[int, ...], bytes]:
    if array.dtype == np.int8:  # the options
        kind, data = INT8, array.tobytes()
    elif name[:-1].endswith("_W"):
        if array.shape[0] % IN_MULTIPLE or array.shape[1] % OUT_MULTIPLE:
            raise ValueError(
                f"{name} is {list(array.shape)}; intgemm needs multiples of "
                f"{IN_MULTIPLE} and {OUT_MULTIPLE}"
            )
        scale = np.float32(127 / np.abs(array).max())
        rounded = np.rint(np.asarray(array, np.float32) * scale).clip(-127, 127).astype(np.int8)
        kind, data = INTGEMM8, np.ascontiguousarray(rounded.T).tobytes() + scale.tobytes()
    else:
        kind, data = FLOAT32, np.asarray(array, np.float32).tobytes()
    return kind, array.shape, data + bytes(-len(data) % ALIGNMENT)
