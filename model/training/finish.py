"""Writes the checkpoint of a run: weights chosen from its saves, configuration and card."""

import json
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoint.config import CheckpointConfig
from model.checkpoint.writer import save_checkpoint
from model.errors import TrainingError
from model.training.config import TrainingConfig
from model.training.run import INIT_FILE, check_recipe, origin_config, read_vocabulary
from model.training.snapshots import MovingAverage, average_saves, best_save
from model.training.state import Counters, latest_state, load_counters
from model.transformer.config import TransformerConfig


def write_checkpoint(run: Path, config: TrainingConfig, name: str, destination: Path) -> None:
    """Write a checkpoint of the run's saves to `destination`, atomically; the run can continue.

    Raises `TrainingError` if nothing was saved yet or the run has another recipe.
    """
    check_recipe(run, config)
    state = latest_state(run)
    if state is None:
        raise TrainingError(f"{run}: nothing saved yet; --save-every sets the interval in steps")
    counters = load_counters(state)
    tokenizer = read_vocabulary(run)
    weights = _weights(run, state, config)
    if config.store == "fp16":
        weights = {name: _half(name, tensor) for name, tensor in weights.items()}
    checkpoint = _configuration(run, config, name, config.shape_for(tokenizer))
    training: dict[str, object] = {
        "recipe": json.loads(config.model_dump_json()),
        "step": counters.step,
        "target_tokens": counters.tokens,
        "seconds": round(counters.seconds),
    }
    if (run / INIT_FILE).exists():
        training["init"] = json.loads((run / INIT_FILE).read_text())
    n_parameters = sum(tensor.numel() for tensor in weights.values())
    card = model_card(name, config, counters, n_parameters)
    save_checkpoint(destination, checkpoint, weights, tokenizer, card, training)


def _weights(run: Path, state: Path, config: TrainingConfig) -> dict[str, Tensor]:
    """Return the moving average, the best step or the mean of the last saves."""
    if config.ema and load_counters(state).step:
        return MovingAverage.load(state, config.ema, torch.device("cpu")).tensors
    if config.validation.keep_best:
        return best_save(run)
    return average_saves(run, config.average_last)


def _configuration(
    run: Path, config: TrainingConfig, name: str, shape: TransformerConfig
) -> CheckpointConfig:
    """Describe the checkpoint; one continued from another keeps its search and valid alignment."""
    directions = sorted(config.all_directions)
    origin = origin_config(run)
    if origin is None:
        return CheckpointConfig(name=name, directions=directions, transformer=shape)
    return CheckpointConfig(
        name=name,
        directions=directions,
        beam_size=origin.beam_size,
        length_penalty=origin.length_penalty,
        search_rule=origin.search_rule,
        logits_processors=origin.logits_processors,
        marian_vocabulary=origin.marian_vocabulary,
        alignment=origin.alignment if origin.directions == directions else None,
        transformer=shape,
    )


def _half(name: str, tensor: Tensor) -> Tensor:
    half = tensor.half()
    if not half.isfinite().all():
        raise TrainingError(f"'{name}' has weights outside the range of fp16; store it as fp32")
    return half


def model_card(name: str, config: TrainingConfig, counters: Counters, n_parameters: int) -> str:
    """Return CARD.md: training data and credits. Scores and known faults are added manually."""
    directions = ", ".join(
        f"{source} → {target}" for source, target in sorted(config.all_directions)
    )
    credit_lines = "\n".join(
        f"- **{corpus.name}**: {corpus.credit or 'no credit given'}. "
        f"Origin: {corpus.origin or 'not stated'}. Licence: {corpus.licence or 'not stated'}."
        for corpus in config.corpora
    )
    return f"""# {name}

A Transformer encoder-decoder (Vaswani et al. 2017) of {n_parameters / 1e6:.1f} M parameters.

Translates {directions}. Trained by `attend train` for {counters.step:,} steps on \
{counters.tokens:,} target tokens in {counters.seconds / 3600:.1f} hours; every setting is in \
training.json.

## Trained on

{credit_lines}
"""
