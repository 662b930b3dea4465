"""Devices for tensors, and the number of usable cores."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

from model.errors import ConfigError

_NAME = re.compile(r"auto|cpu|cuda(?::(?P<index>\d+))?")
_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
AMD_DEVICE = Path("/dev/kfd")


def pick_device(name: str) -> str:
    """Return the device; `auto` is the first GPU, else the CPU. Raises `ConfigError`."""
    if not (match := _NAME.fullmatch(name)):
        raise ConfigError(f"device '{name}' is not known; use auto, cpu or cuda")
    if name == "cpu":
        return name
    n_gpus = _count_gpus() if _has_driver() else 0
    if name == "auto":
        return "cuda" if n_gpus else "cpu"
    if not n_gpus:
        raise ConfigError(f"device '{name}': no usable GPU; use auto or cpu")
    if int(match["index"] or 0) >= n_gpus:
        raise ConfigError(f"device '{name}': there are {n_gpus} GPUs, counted from 0")
    return name


def _has_driver() -> bool:
    """Whether there may be a GPU; if not, torch need not be imported."""
    return AMD_DEVICE.exists() or any(map(_can_be_loaded, _DRIVERS))


def _can_be_loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _count_gpus() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


CPU_QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")
"""Control group of a container: microseconds of processor time per period, and the period."""


def usable_cores() -> int:
    """Return the cores that this process may use: its affinity, within its container's quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = bound or 1
    try:
        quota, period = CPU_QUOTA_FILE.read_text().split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no control group, or "max": no quota
        return cores
