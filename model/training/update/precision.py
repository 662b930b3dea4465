"""Number formats: bf16 or int8 matrix products where they are fast, float32 everywhere else."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.errors import TrainingError
from model.transformer.attention import MultiHeadAttention

Precision = Literal["auto", "fp32", "bf16", "int8"]

_PRODUCT = (512, 256, 1024)
"""Rows, depth and columns of the product measured on a CPU: that of a feed-forward layer."""

_MEASUREMENT = 0.05
"""Seconds after which no further product is measured."""

_GAIN = 1.2
"""Minimum speedup for bf16 to be worth its rounding errors."""


def supports_bf16(device: torch.device) -> bool:
    """Whether bf16 products are faster: on recent GPUs, and on CPUs where measurement shows it.

    AVX512-BF16 alone is not enough: on processors whose AMX a hypervisor hides, bf16 products took
    twice as long as float32 ones; on others they take a fifth.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    if not (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")):
        return False
    return seconds_of_a_product(torch.float32) > _GAIN * seconds_of_a_product(torch.bfloat16)


def seconds_of_a_product(dtype: torch.dtype) -> float:
    """Return the processor time of one matrix product, the minimum of several runs."""
    rows, depth, columns = _PRODUCT
    left, right = torch.ones(rows, depth, dtype=dtype), torch.ones(columns, depth, dtype=dtype)
    times: list[float] = []
    while len(times) < 8 and sum(times) < _MEASUREMENT:
        began = time.process_time()
        if dtype == torch.int8:
            torch._int_mm(left, right.T)
        else:
            functional.linear(left, right)
        times.append(time.process_time() - began)
    return min(times)


def slow_int8() -> str | None:
    """Return a warning if int8 products are slower than float32 ones, as on CPUs without VNNI."""
    times = seconds_of_a_product(torch.int8) / seconds_of_a_product(torch.float32)
    if times <= 1:
        return None
    return (
        f"int8 products take {times:.1f} × as long as float32 ones here; precision auto is faster"
    )


def resolve(precision: Precision, device: torch.device) -> torch.dtype:
    """Return the type of matrix products; with int8, of those that stay in floating point.

    Raises `TrainingError` for int8 on a device that is not a CPU.
    """
    if precision == "int8" and device.type != "cpu":
        raise TrainingError(f"precision int8 is for CPUs, not for {device}; use auto")
    if precision == "auto":
        return torch.bfloat16 if supports_bf16(device) else torch.float32
    return torch.bfloat16 if precision == "bf16" else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Return the context for a forward pass."""
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def keep_attention_in_float32(model: nn.Module) -> None:
    """Replace the fused attention of every layer by its float32 form.

    On a CPU, the bf16 kernel's backward pass is many times slower than the float32 one (torch 2.13:
    15 ms against 1.4 ms for 600 heads of 20 × 20), and attention is a small part of the arithmetic
    at sentence length.
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


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Flush denormals to zero in this thread.

    The momentum of a dead unit shrinks to denormal numbers, with which processors are a hundred
    times slower: one matrix took Muon 350 ms instead of 7.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
