"""Writes a safetensors file one tensor at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_TYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int8: "I8",
}  # fmt: skip
_ALIGNMENT = 8


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write floating-point and int8 tensors by name, holding one if `tensors` are read on access.

    The format is that of https://github.com/huggingface/safetensors: the header's length in 8
    bytes, the header as JSON, the data. The widest types come first, so that every tensor begins at
    a multiple of its type's size.
    """
    facts = {name: (tensor.dtype, list(tensor.shape)) for name, tensor in tensors.items()}
    names = sorted(facts, key=lambda name: (-facts[name][0].itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in names:
        kind, shape = facts[name]
        start, end = end, end + kind.itemsize * torch.Size(shape).numel()
        header[name] = {"dtype": _TYPES[kind], "shape": shape, "data_offsets": [start, end]}
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    written += b" " * (-len(written) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(written).to_bytes(8, "little"))
        file.write(written)
        for name in names:
            data = tensors[name].detach().cpu().contiguous().flatten()
            file.write(data.view(torch.uint8).numpy().data)
