"""Where tensors live, and how many cores there are to work on them."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from model.errors import ConfigError


def pick_device(name: str) -> torch.device:
    """`auto` is the first GPU if there is one, else the CPU. Raises `ConfigError`."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device '{name}' is not known; use auto, cpu or cuda") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"device '{name}' is not supported; use auto, cpu or cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device '{name}': no usable GPU; use auto or cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        n_gpus = torch.cuda.device_count()
        raise ConfigError(f"device '{name}': there are {n_gpus} GPUs, counted from 0")
    return device


CPU_QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")
"""Of a container's control group: microseconds that it may use in a period of so many."""


def usable_cores() -> int:
    """Cores that this process may keep busy: what it is bound to, within its container's quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = bound or 1
    try:
        quota, period = CPU_QUOTA_FILE.read_text().split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no control group, or "max": no quota
        return cores
