"""Errors that say that memory is short, on any device."""

from __future__ import annotations

import torch

_CPU_MESSAGES = ("can't allocate memory", "not enough memory")
"""In what torch raises on a CPU, a plain `RuntimeError` (c10/core/impl/alloc_cpu.cpp)."""


def is_memory_short(error: BaseException) -> bool:
    """Whether an error says that there is no memory left, on the host or on a device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(part in str(error) for part in _CPU_MESSAGES)


def give_back_unused(device: torch.device) -> None:
    """Return the memory that torch keeps for later to the device, for tensors of other sizes."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "xpu":
        torch.xpu.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
