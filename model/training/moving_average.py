"""An exponential moving average of a run's weights, often better than each of them (§6.1).

The decay grows with the steps, min(decay, (1 + step) / (10 + step)), so that the random initial
weights fade quickly. It depends only on the step, so a resumed run continues exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from model.training.state import load_tensors, parameters
from model.transformer.transformer import Transformer

AVERAGE_FILE = "average.safetensors"


@dataclass
class MovingAverage:
    """The average, by name of parameter; empty before the first update or with decay 0."""

    decay: float
    tensors: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def update(self, model: Transformer, step: int) -> None:
        """Include the parameters after a step, which counts from 1."""
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

    @staticmethod
    def load(folder: Path, decay: float, device: torch.device) -> MovingAverage:
        """Read the average of a saved state. Raises `TrainingError`."""
        tensors = load_tensors(folder / AVERAGE_FILE) if decay else {}
        return MovingAverage(decay, {name: t.to(device) for name, t in tensors.items()})
