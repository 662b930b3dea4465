"""Properties of a kind of device: its types, its memory, transfers between it and the host."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.engine.protocol import PrecisionChoice
from model.errors import ConfigError

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}

_SHORTAGE = (
    "can't allocate memory", "not enough memory",  # c10/core/impl/alloc_cpu.cpp
    "out of memory",  # CUDA's and XPU's drivers, MPS
    "cublas_status_alloc_failed", "cusolver_status_alloc_failed",
    "cudnn_status_alloc_failed", "cudnn_status_internal_error_host_allocation_failed",
    "cudnn_status_internal_error_device_allocation_failed",
)  # fmt: skip
"""Parts, in lower case, of the messages of a `RuntimeError` that reports a shortage of memory."""


def dtype_of(precision: PrecisionChoice, device: str) -> torch.dtype:
    """Return the type of weights, caches and products. Sums and probabilities are float32.

    `auto` is bfloat16 where the hardware has it, else float32: bfloat16 has the range of float32,
    so no model overflows. Raises `ConfigError` for `int8`.
    """
    if precision == "int8":
        raise ConfigError(
            f"precision 'int8': only on a CPU, not on {device}; use auto, fp32, bf16 or fp16"
        )
    if precision == "auto":
        return torch.bfloat16 if _has_bfloat16(device) else torch.float32
    return _TYPES[precision]


def _has_bfloat16(device: str) -> bool:
    kind = torch.device(device).type
    if kind == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return kind == "xpu" and torch.xpu.is_bf16_supported()


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise `MemoryError` for any error that reports a shortage of memory, on host or device."""
    try:
        yield
    except RuntimeError as error:  # also torch.OutOfMemoryError and torch.AcceleratorError
        message = str(error).lower()
        is_shortage = isinstance(error, torch.OutOfMemoryError)
        if not (is_shortage or any(part in message for part in _SHORTAGE)):
            raise
        raise MemoryError("the device has no memory left") from error


def release_cache(device: torch.device) -> None:
    """Return the unused memory that torch caches to the device, for tensors of other sizes."""
    if device.type in ("cuda", "xpu", "mps"):
        getattr(torch, device.type).empty_cache()


def upload(values: NDArray[np.int64] | Sequence[int], device: torch.device) -> Tensor:
    """Copy to the device, on CUDA from pinned memory, so that the host does not wait."""
    host = torch.from_numpy(np.asarray(values, np.int64))
    if device.type == "cuda":
        return host.pin_memory().to(device, non_blocking=True)
    return host.to(device, copy=True)


class ReportReader:
    """Reads reports, int32 [n, width]: the only place where the host waits for the device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pinned: Tensor | None = None
        self.n_reads = 0

    def read(self, report: Tensor) -> NDArray[np.int32]:
        """Return a copy on the host, once all earlier work is done."""
        self.n_reads += 1
        if self._device.type != "cuda":
            return report.to("cpu", copy=True).numpy()
        if self._pinned is None or self._pinned.numel() < report.numel():
            self._pinned = torch.empty(report.numel(), dtype=torch.int32, pin_memory=True)
        target = self._pinned[: report.numel()].view(report.shape)
        target.copy_(report, non_blocking=True)
        torch.cuda.current_stream(self._device).synchronize()
        return target.numpy().copy()
