"""The log of a training run for TensorBoard, if it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class TensorBoard:
    """Writes each line of a run's log as scalars. Raises `ImportError` without TensorBoard."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder))

    def __call__(self, figures: Mapping[str, float]) -> None:
        """Add the figures of one step, under their names in log.jsonl."""
        step = int(figures["step"])
        for name, value in figures.items():
            if name != "step":
                self._writer.add_scalar(name.replace(".", "/"), value, step)
        self._writer.flush()
