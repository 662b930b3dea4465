"""§6.1: the last saves of a run, and their average, which is better than each of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import torch
from safetensors.torch import save_file
from torch import Tensor

from model.errors import TrainingError
from model.training.state import WEIGHTS_FILE, latest_state, load_tensors, parameters, step_of
from model.transformer.transformer import Transformer

SNAPSHOTS = "snapshots"
BEST_FILE = "best.safetensors"


def save_snapshot(run: Path, model: Transformer, step: int, keep: int) -> None:
    """Write the parameters of this step and remove all but the newest `keep`."""
    folder = run / SNAPSHOTS
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "partial"
    save_file(parameters(model), partial)
    partial.rename(folder / f"step-{step:08}.safetensors")
    for old in _snapshots(run)[:-keep]:
        old.unlink()


def save_best(run: Path, model: Transformer) -> None:
    """Replace the parameters of the best measured step."""
    partial = run / f"{BEST_FILE}.partial"
    save_file(parameters(model), partial)
    partial.rename(run / BEST_FILE)


def best_save(run: Path) -> dict[str, Tensor]:
    """Return the parameters of the best measured step. Raises `TrainingError` if there are none."""
    if not (run / BEST_FILE).exists():
        raise TrainingError(
            f"{run}: no step was measured yet; validation.every sets the interval in steps"
        )
    return load_tensors(run / BEST_FILE)


def average_saves(run: Path, count: int) -> dict[str, Tensor]:
    """Return the mean parameters of a run's newest `count` saves, summed in float64.

    The saves are the snapshots, and the state if the run was stopped after the last snapshot.
    Raises `TrainingError` if there are none.
    """
    files = _snapshots(run)
    state = latest_state(run)
    if state and not any(_step_of(file) >= step_of(state) for file in files):
        files.append(state / WEIGHTS_FILE)
    if not files:
        raise TrainingError(f"{run}: nothing saved yet; --save-every sets the interval in steps")
    files = files[-count:]
    sums: dict[str, Tensor] = {}
    for file in files:
        for name, tensor in load_tensors(file).items():
            sums[name] = sums.get(name, torch.zeros_like(tensor, dtype=torch.float64)) + tensor
    return {name: (total / len(files)).float() for name, total in sums.items()}


def _snapshots(run: Path) -> list[Path]:
    """Return the snapshots, oldest first."""
    return sorted((run / SNAPSHOTS).glob("step-*.safetensors"))


def _step_of(snapshot: Path) -> int:
    return int(snapshot.stem.removeprefix("step-"))


AVERAGE_FILE = "average.safetensors"


@dataclass
class MovingAverage:
    """The average, by name of parameter; empty before the first update or with decay 0."""

    decay: float
    tensors: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def update(self, model: Transformer, step: int) -> None:
        if not self.decay:
            return
        weight = 1 - min(self.decay, (1 + step) / (10 + step))
        for name, parameter in parameters(model).items():
            if name in self.tensors:
                self.tensors[name].lerp_(parameter, weight)
            else:
                self.tensors[name] = parameter.clone()

    def save(self, folder: Path) -> None:
        """Write the average, if there is one, into the folder of a state."""
        if self.tensors:
            save_file(self.tensors, folder / AVERAGE_FILE)

    @classmethod
    def load(cls, folder: Path, decay: float, device: torch.device) -> Self:
        """Read the average of a saved state. Raises `TrainingError`."""
        tensors = load_tensors(folder / AVERAGE_FILE) if decay else {}
        return cls(decay, {name: t.to(device) for name, t in tensors.items()})
