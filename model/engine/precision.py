"""The types that a device computes in."""

from __future__ import annotations

import torch

from model.engine.protocol import PrecisionChoice
from model.errors import ConfigError

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def dtype_of(precision: PrecisionChoice, device: str) -> torch.dtype:
    """Return the type of weights, caches and products. Sums and probabilities are float32.

    `auto` is bfloat16 where the device has it in hardware, else float32: it has the range of
    float32, so that no model overflows. Raises `ConfigError` for `int8`.
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
