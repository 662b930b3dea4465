"""Mixed precision: bf16 matrix products where the device has them, float32 everywhere else."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.transformer.attention import MultiHeadAttention

_PRODUCT = (512, 256, 1024)
"""Rows, depth and columns of the product that decides on a CPU: a feed-forward layer's."""

_GAIN = 1.2
"""How much faster bf16 must be to be worth its rounding."""


def supports_bf16(device: torch.device) -> bool:
    """True where bf16 products are the faster ones: recent GPUs, and CPUs on which they measure so.

    AVX512-BF16 alone does not say: on processors whose AMX is hidden by a hypervisor, bf16 products
    were seen to take twice as long as those in float32; on others they take a fifth.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    if not (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")):
        return False
    return seconds_of_a_product(torch.float32) > _GAIN * seconds_of_a_product(torch.bfloat16)


def seconds_of_a_product(dtype: torch.dtype) -> float:
    """Processor time of one matrix product, the least of several."""
    rows, depth, columns = _PRODUCT
    left, right = torch.ones(rows, depth, dtype=dtype), torch.ones(columns, depth, dtype=dtype)
    times = []
    for _ in range(8):
        began = time.process_time()
        functional.linear(left, right)
        times.append(time.process_time() - began)
    return min(times)


def resolve(precision: Literal["auto", "fp32", "bf16"], device: torch.device) -> torch.dtype:
    """The type that matrix products are done in."""
    if precision == "auto":
        return torch.bfloat16 if supports_bf16(device) else torch.float32
    return torch.bfloat16 if precision == "bf16" else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """The context that a forward pass runs in."""
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def keep_attention_in_float32(model: nn.Module) -> None:
    """Swap the fused attention of every layer for its float32 form.

    On a CPU the bf16 kernel's backward pass is many times slower than the float32 one
    (torch 2.13: 15 ms against 1.4 ms for 600 heads of 20 × 20), and attention is a small part of
    the arithmetic at sentence length.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.fused_attention = _float32_attention


def _float32_attention(query: Tensor, key: Tensor, value: Tensor, **options: object) -> Tensor:
    with torch.autocast(query.device.type, enabled=False):
        return functional.scaled_dot_product_attention(
            query.float(),
            key.float(),
            value.float(),
            **options,  # type: ignore[arg-type]
        )
