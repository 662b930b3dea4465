"""Forecasts the memory of a model's engines from its configuration."""

import math
from collections.abc import Sequence

from model.checkpoint.parameters import parameter_shapes
from model.engine.cpu.capacity import FLOAT_BYTES, MAX_ROWS, cache_bytes
from model.engine.cpu.kernels.instructions import COLUMNS, GROUP, INSTRUCTION
from model.engine.cpu.kernels.packing import padded
from model.engine.protocol import PrecisionChoice
from model.transformer.config import TransformerConfig

CANDIDATES_BYTES = 2_300
"""Bytes of a row: its best continuations, and the tokens named by constraints."""
SLOTS_BYTES = 2_000_000
"""Bytes of the first sentences in an engine, except their keys and values."""


def expected_bytes(
    config: TransformerConfig,
    precision: PrecisionChoice = "auto",
    n_threads: int = 1,
    devices: Sequence[str] = ("cpu",),
) -> int:
    """Return the expected bytes of `build_engines`, with a few sentences in flight.

    On a CPU, embeddings do not count: engines read their rows from the checkpoint's file, whose
    pages the system may reclaim.
    """
    shapes = parameter_shapes(config)
    if tuple(devices) != ("cpu",) or precision in ("bf16", "fp16"):
        # The torch engine joins the projections of the decoder's attention once more.
        n_joined = config.n_decoder_layers * 5 * config.d_model**2
        n_weights = sum(map(math.prod, shapes.values())) + n_joined
        half = precision in ("bf16", "fp16")
        return len(devices) * n_weights * (FLOAT_BYTES // 2 if half else FLOAT_BYTES)
    width = 1 if precision != "fp32" else FLOAT_BYTES
    weights = FLOAT_BYTES * config.max_length * config.d_model
    for name, shape in shapes.items():
        if len(shape) == 2 and not name.endswith("embedding.weight") and name != "output.weight":
            weights += _packed(shape[0], shape[1], width)
    weights += _packed(config.target_vocab_size, config.d_model, width)
    rows = max(MAX_ROWS, config.max_length)
    inner = max(config.d_ff, config.d_ff_of_decoder)
    quantised = max(config.d_model, inner) * INSTRUCTION.bits // 8
    floats = 7 * padded(config.d_model, COLUMNS) + inner + COLUMNS
    work = rows * (CANDIDATES_BYTES + quantised + FLOAT_BYTES * floats)
    return weights + n_threads * (work + sentences_bytes(config))


def sentences_bytes(config: TransformerConfig) -> int:
    """Return the bytes of an engine's first sentences: slots, first page of keys and values."""
    return SLOTS_BYTES + cache_bytes(config, n_pages=1)


def _packed(n_outputs: int, n_inputs: int, width: int) -> int:
    """Bytes of a `Linear`: weights, scales and biases."""
    columns = padded(n_outputs, COLUMNS)
    inputs = padded(n_inputs, GROUP) if width == 1 else n_inputs
    return columns * (inputs * width + 2 * FLOAT_BYTES)
