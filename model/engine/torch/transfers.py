"""What crosses between host and device: uploads that are not waited for, and one report a step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def upload(values: NDArray[np.int64] | Sequence[int], device: torch.device) -> Tensor:
    """Copy to the device, from pinned memory where the device is CUDA, so that nobody waits."""
    host = torch.from_numpy(np.asarray(values, np.int64))
    if device.type == "cuda":
        return host.pin_memory().to(device, non_blocking=True)
    return host.to(device, copy=True)


class ReportReader:
    """Reads reports, int32 [n, width]: the one place where the host waits for the device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pinned: Tensor | None = None
        self.n_reads = 0

    def read(self, report: Tensor) -> NDArray[np.int32]:
        """Return a copy on the host, once all work before it is done."""
        self.n_reads += 1
        if self._device.type != "cuda":
            return report.to("cpu", copy=True).numpy()
        if self._pinned is None or self._pinned.numel() < report.numel():
            self._pinned = torch.empty(report.numel(), dtype=torch.int32, pin_memory=True)
        target = self._pinned[: report.numel()].view(report.shape)
        target.copy_(report, non_blocking=True)
        torch.cuda.current_stream(self._device).synchronize()
        return target.numpy().copy()
