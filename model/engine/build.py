"""Which engines run a checkpoint: the one place that chooses."""

from __future__ import annotations

from model.checkpoint import Checkpoint
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.weights import Precision, Weights, pack
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, PrecisionChoice
from model.transformer import Transformer

DEFAULT_BATCH_TOKENS = 16_384
"""Of the eager engine: sentences × the longest of them, in source tokens."""


def build_engines(
    checkpoint: Checkpoint,
    precision: PrecisionChoice = "auto",
    n_threads: int = 1,
    max_batch_tokens: int = DEFAULT_BATCH_TOKENS,
) -> list[Engine]:
    """One engine for each thread on a CPU, else one for the device.

    `auto` is int8 on a CPU. The eager engine, in float32, runs what the CPU engine does not: other
    devices, and checkpoints that are searched by another project's rule.
    """
    model, config = checkpoint.model, checkpoint.config
    if model.device.type != "cpu" or config.search_rule:
        return [EagerEngine(model, max_batch_tokens)]
    weights = pack_model(model, "float32" if precision == "fp32" else "int8")
    return [CpuEngine(config.transformer, weights) for _ in range(n_threads)]


def pack_model(model: Transformer, precision: Precision) -> Weights:
    """A model's parameters for `CpuEngine`; the model itself is not needed any more."""
    parameters = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
    return pack(model.config, parameters, model.positions.table.numpy(), precision)
