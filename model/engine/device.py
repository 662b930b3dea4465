"""Finds the devices for tensors, and the number of usable cores."""

import ctypes
import os
import re
from pathlib import Path

from model.errors import ConfigError

_NAME = re.compile(r"cpu|cuda(?::\d+)?|xpu(?::\d+)?|mps")
_KNOWN = "auto, cpu, cuda, cuda:1, xpu, mps, or several as in cuda:0,cuda:1"
_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
AMD_DEVICE = Path("/dev/kfd")

CPU_QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")
"""Control group of a container: microseconds of processor time per period, and the period."""


def pick_device(name: str) -> str:
    """Return the device; `auto` is the first GPU of NVIDIA or AMD, else the CPU.

    Raises `ConfigError`, also for several devices.
    """
    devices = pick_devices(name)
    if len(devices) > 1:
        raise ConfigError(f"device '{name}': expected one device, got {len(devices)}")
    return devices[0]


def pick_devices(names: str) -> tuple[str, ...]:
    """Return the devices of a list such as `cuda:0,cuda:1`, in its order. Raises `ConfigError`."""
    if names == "auto":
        return ("cuda",) if _has_driver() and _n_present("cuda") else ("cpu",)
    devices = tuple(names.split(","))
    for name in devices:
        _check(name)
    if len(devices) > 1 and "cpu" in devices:
        raise ConfigError(f"device '{names}': the CPU cannot be combined with other devices")
    if len(set(map(_numbered, devices))) < len(devices):
        raise ConfigError(f"device '{names}': names a device twice")
    return devices


def _check(name: str) -> None:
    """Raise `ConfigError` for an unknown or missing device."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"device '{name}' is not known; use {_KNOWN}")
    if name == "cpu":
        return
    kind, _, index = name.partition(":")
    n_present = _n_present(kind) if kind != "cuda" or _has_driver() else 0
    if not n_present:
        missing = {
            "cuda": "no usable GPU",
            "xpu": "no Intel GPU that this PyTorch can use",
            "mps": "no Apple GPU that this PyTorch can use",
        }
        raise ConfigError(f"device '{name}': {missing[kind]}; use auto or cpu")
    if int(index or 0) >= n_present:
        raise ConfigError(f"device '{name}': there are {n_present} GPUs, counted from 0")


def _numbered(name: str) -> str:
    """Return the full name: `cuda` is `cuda:0`."""
    return name if ":" in name else f"{name}:0"


def _has_driver() -> bool:
    """Whether there may be a GPU; else torch need not be imported."""
    return AMD_DEVICE.exists() or any(map(_can_be_loaded, _DRIVERS))


def _can_be_loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _n_present(kind: str) -> int:
    """The number of devices of a kind that torch can use."""
    import torch

    if kind == "mps":
        return int(torch.backends.mps.is_available())
    module = torch.cuda if kind == "cuda" else torch.xpu
    return module.device_count() if module.is_available() else 0


def usable_cores() -> int:
    """Return the cores that this process may use: its affinity, within its container's quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = bound or 1
    try:
        quota, period = CPU_QUOTA_FILE.read_text().split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no control group, or "max": no quota
        return cores
