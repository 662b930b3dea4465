"""From a run to a checkpoint folder: the average of the last snapshots, and a card."""

from __future__ import annotations

import json
from pathlib import Path

from model.checkpoint import CheckpointConfig, save_checkpoint
from model.training.card import model_card
from model.training.snapshots import average_snapshots
from model.training.trainer import Trainer


def write_checkpoint(trainer: Trainer, name: str, destination: Path) -> Path:
    """Average, then write `destination` whole. Raises `TrainingError` if nothing was saved yet."""
    config = CheckpointConfig(
        name=name,
        directions=sorted(trainer.config.all_directions),
        transformer=trainer.model.config,
    )
    weights = average_snapshots(trainer.run, trainer.config.average_last)
    training = {
        "recipe": json.loads(trainer.config.model_dump_json()),
        "step": trainer.counters.step,
        "target_tokens": trainer.counters.tokens,
        "seconds": round(trainer.counters.seconds),
    }
    card = model_card(name, trainer.config, trainer.counters, trainer.model.n_parameters())
    save_checkpoint(destination, config, weights, trainer.tokenizer, card, training)
    return destination
