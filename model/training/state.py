"""What a run needs to go on exactly where it was, on disk: tensors and JSON, never a pickle."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from model.errors import TrainingError
from model.training.batches import Position
from model.transformer import Transformer
from model.training.optimizer import Optimizer

_PREFIX = "state-"


@dataclass
class Counters:
    """How far a run is. `tokens` counts target tokens, `seconds` time spent training."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    position: Position = Position(0, 0)


def latest_state(run: Path) -> Path | None:
    """The folder of the newest complete state in a run folder."""
    complete = sorted(path for path in run.glob(f"{_PREFIX}*") if path.suffix != ".partial")
    return complete[-1] if complete else None


def save_state(run: Path, model: Transformer, optimizer: Optimizer, counters: Counters) -> None:
    """Write a complete new state, then remove older ones: a crash at any point loses nothing."""
    folder = run / f"{_PREFIX}{counters.step:08}"
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save_file(parameters(model), partial / "model.safetensors")
    rng = {"rng.cpu": torch.get_rng_state()}
    if model.device.type == "cuda":
        rng["rng.cuda"] = torch.cuda.get_rng_state(model.device)
    save_file(optimizer.state_tensors() | rng, partial / "optimizer.safetensors")
    (partial / "counters.json").write_text(json.dumps(asdict(counters)))
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    for other in run.glob(f"{_PREFIX}*"):
        if other != folder:
            shutil.rmtree(other)


def load_state(folder: Path, model: Transformer, optimizer: Optimizer) -> Counters:
    """Put a saved state back, random generators included. Raises `TrainingError`."""
    try:
        model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        tensors = load_file(folder / "optimizer.safetensors")
        values = json.loads((folder / "counters.json").read_text())
    except (OSError, SafetensorError, RuntimeError, ValueError) as error:
        raise TrainingError(f"{folder}: cannot resume: {str(error).splitlines()[0]}") from None
    torch.set_rng_state(tensors.pop("rng.cpu"))
    cuda_state = tensors.pop("rng.cuda", None)
    if cuda_state is not None and model.device.type == "cuda":
        torch.cuda.set_rng_state(cuda_state, model.device)
    optimizer.load_state_tensors(tensors)
    return Counters(**values | {"position": Position(*values["position"])})


def parameters(model: Transformer) -> dict[str, Tensor]:
    """The model's tensors by name, shared ones once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
