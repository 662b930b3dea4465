"""§6.1: the last few saves of a run, and their average, which is better than any of them."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from model.errors import TrainingError
from model.training.state import parameters
from model.transformer import Transformer

_FOLDER = "snapshots"


def save_snapshot(run: Path, model: Transformer, step: int, keep: int) -> None:
    """Write the parameters of this step and remove all but the newest `keep`."""
    folder = run / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    save_file(parameters(model), folder / f"step-{step:08}.safetensors")
    for old in sorted(folder.iterdir())[:-keep]:
        old.unlink()


def average_snapshots(run: Path, count: int) -> dict[str, Tensor]:
    """The mean of the newest `count` snapshots, summed in float64. Raises `TrainingError`."""
    files = sorted((run / _FOLDER).glob("step-*.safetensors"))[-count:]
    if not files:
        raise TrainingError(f"{run}: no snapshots yet; the first comes after save_every steps")
    sums: dict[str, Tensor] = {}
    for file in files:
        for name, tensor in load_file(file).items():
            sums[name] = sums.get(name, torch.zeros_like(tensor, dtype=torch.float64)) + tensor
    return {name: (total / len(files)).float() for name, total in sums.items()}
