"""Chooses and builds the engines for a checkpoint."""

from collections.abc import Sequence

from model.checkpoint.reader import Checkpoint
from model.decoding.hypothesis import SearchOptions
from model.decoding.term_constraints import piece_edges
from model.engine.compile import ensure_compiled, load_compiled
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision, pack
from model.engine.cpu.kernels.target import ONLY_COMPILES
from model.engine.protocol import Engine, EngineInfo, PrecisionChoice
from model.errors import ConfigError

DEFAULT_BATCH_TOKENS = 16_384
"""Limit of the torch engine: sentences × the longest of them, in source tokens."""

_KERNELS: dict[PrecisionChoice, Precision] = {"auto": "int8", "int8": "int8", "fp32": "float32"}
"""Precisions that the CPU engine has."""


def build_engines(
    checkpoint: Checkpoint,
    precision: PrecisionChoice = "auto",
    n_threads: int = 1,
    max_batch_tokens: int = DEFAULT_BATCH_TOKENS,
    devices: Sequence[str] = ("cpu",),
) -> list[Engine]:
    """Return one engine for each thread on a CPU, else one for each device.

    `auto` is int8 on a CPU. Other devices, and half precision on a CPU, use the torch engine.
    Raises `ConfigError` for a precision that a device does not support.
    """
    if not _has_kernels(precision, devices):
        return [
            _torch_engine(checkpoint, precision, n_threads, max_batch_tokens, device)
            for device in devices
        ]
    load_compiled(_KERNELS[precision])
    config = checkpoint.config
    weights = pack(
        config.transformer, checkpoint.weights, _KERNELS[precision], checkpoint.quantized
    )
    edges = piece_edges(checkpoint.tokenizer)
    return [
        CpuEngine(config.transformer, weights, edges, n_threads=n_threads) for _ in range(n_threads)
    ]


def prepare_kernels(precision: PrecisionChoice, devices: Sequence[str] = ("cpu",)) -> None:
    """Compile what engines of that precision need, if they have kernels and the cache lacks any.

    Raises `ConfigError` if `KERNEL_TARGET` names another kind of processor than this.
    """
    if _has_kernels(precision, devices):
        if ONLY_COMPILES:
            raise ConfigError("KERNEL_TARGET: this processor cannot run code for that target")
        ensure_compiled(_KERNELS[precision])


def expected_info(precision: PrecisionChoice, n_threads: int, devices: Sequence[str]) -> EngineInfo:
    """Describe, in one record, the engines that `build_engines` would build. Raises as it does."""
    if _has_kernels(precision, devices):
        return EngineInfo("cpu", "cpu", _KERNELS[precision], n_threads)
    from model.engine.torch.device import dtype_of

    types = {str(dtype_of(precision, one)).removeprefix("torch."): None for one in devices}
    threads = n_threads if tuple(devices) == ("cpu",) else len(devices)
    return EngineInfo("torch", ",".join(devices), ",".join(types), threads)


def combined_info(engines: Sequence[Engine]) -> EngineInfo:
    """Describe engines of one kind in one record, each device and precision once."""
    found = [engine.info for engine in engines]
    return EngineInfo(
        found[0].engine,
        ",".join(dict.fromkeys(one.device for one in found)),
        ",".join(dict.fromkeys(one.precision for one in found)),
        sum(one.threads for one in found),
    )


def _has_kernels(precision: PrecisionChoice, devices: Sequence[str]) -> bool:
    return tuple(devices) == ("cpu",) and precision in _KERNELS


def _torch_engine(
    checkpoint: Checkpoint,
    precision: PrecisionChoice,
    n_threads: int,
    max_batch_tokens: int,
    device: str,
) -> Engine:
    # Torch is imported only if used: without it, the CPU engine saves 180 MB and a second.
    import torch

    from model.checkpoint.pretrained import load_model
    from model.engine.torch.device import dtype_of
    from model.engine.torch.engine import TorchEngine

    dtype = dtype_of(precision, device)
    torch.set_num_threads(n_threads)
    edges = piece_edges(checkpoint.tokenizer)
    model = load_model(checkpoint, device).to(dtype)
    engine = TorchEngine(model, max_batch_tokens, edges)
    config = checkpoint.config
    engine.prepare(
        SearchOptions(
            config.beam_size, rule=config.search_rule, processors=config.logits_processors
        )
    )
    return engine
