"""Chooses and builds the engines for a checkpoint."""

from __future__ import annotations

from model.checkpoint.reader import Checkpoint
from model.decoding.term_constraints import piece_edges
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.weights import pack
from model.engine.protocol import Engine, PrecisionChoice
from model.errors import ConfigError

DEFAULT_BATCH_TOKENS = 16_384
"""Limit of the eager engine: sentences × the longest of them, in source tokens."""


def build_engines(
    checkpoint: Checkpoint,
    precision: PrecisionChoice = "auto",
    n_threads: int = 1,
    max_batch_tokens: int = DEFAULT_BATCH_TOKENS,
    device: str = "cpu",
) -> list[Engine]:
    """Return one engine for each thread on a CPU, else one for the device.

    `auto` is int8 on a CPU. Other devices use the eager engine, which runs in float32. Raises
    `ConfigError` for a precision that the device does not support.
    """
    config = checkpoint.config
    if device != "cpu":
        if precision == "int8":
            raise ConfigError(f"precision 'int8': only on a CPU, not on {device}; use auto or fp32")
        return [_eager_engine(checkpoint, n_threads, max_batch_tokens, device)]
    weights = pack(
        config.transformer, checkpoint.weights, "float32" if precision == "fp32" else "int8"
    )
    edges = piece_edges(checkpoint.tokenizer)
    return [CpuEngine(config.transformer, weights, edges) for _ in range(n_threads)]


def _eager_engine(
    checkpoint: Checkpoint, n_threads: int, max_batch_tokens: int, device: str
) -> Engine:
    # Torch is imported only if used: without it, the CPU engine saves 180 MB and a second.
    import torch

    from model.checkpoint.pretrained import load_model
    from model.engine.eager import EagerEngine

    torch.set_num_threads(n_threads)
    edges = piece_edges(checkpoint.tokenizer)
    return EagerEngine(load_model(checkpoint, device), max_batch_tokens, edges)
