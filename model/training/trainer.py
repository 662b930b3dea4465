"""The training loop of §5: batches in, updates, measurements, saves; resumable at every save."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import torch

from model.errors import TrainingError
from model.text.tokenizer import Tokenizer
from model.training.config import TrainingConfig
from model.training.data.batches import Batch, BatchStream, Position
from model.training.snapshots import save_snapshot
from model.training.state import Counters, latest_state, load_state, save_state, step_of
from model.training.update import precision
from model.training.update.divergence import first_not_finite, parameter_not_finite
from model.training.update.loss import Loss, smoothed_cross_entropy
from model.training.update.optimizer import Optimizer
from model.training.update.schedule import learning_rate
from model.training.validation import HeldOut, greedy_bleu, held_out_loss, teacher_forced
from model.transformer.transformer import Transformer


class Reporter(Protocol):
    """Receives a run's metrics as flat mappings, each of which fits one JSON line."""

    def on_step(self, figures: dict[str, float]) -> None:
        """After an update: step, loss, cross_entropy, learning_rate, tokens, seconds, …"""

    def on_validation(self, figures: dict[str, float]) -> None:
        """After a measurement on held-out pairs: step, and per set cross_entropy and bleu."""


@dataclass
class Trainer:
    """One run in its folder. `train` resumes from the newest saved state, if any."""

    config: TrainingConfig
    run: Path
    tokenizer: Tokenizer
    stream: BatchStream
    held_out: list[HeldOut]
    reporter: Reporter
    device: torch.device
    workers: int = 0
    clock: Callable[[], float] = time.monotonic
    model: Transformer = field(init=False)
    stop_requested: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        torch.manual_seed(self.config.seed)
        tokenizer = self.tokenizer
        shape = self.config.transformer(tokenizer.pad_id, tokenizer.eos_id, tokenizer.vocab_size)
        self.model = Transformer(shape).to(self.device)
        self._dtype = precision.resolve(self.config.precision, self.device)
        if self.device.type == "cpu" and self._dtype == torch.bfloat16:
            precision.keep_attention_in_float32(self.model)
        self._optimizer = Optimizer(self.model, self.config.optimizer)
        self.counters = Counters()
        if saved := latest_state(self.run):
            self.counters = load_state(saved, self.model, self._optimizer)

    def train(self) -> None:
        """Run until the last step or `stop_requested`, then save. Raises `TrainingError` on NaN."""
        self.model.train()
        began = self.clock() - self.counters.seconds
        with closing(self.stream.batches(self.counters.position, self.workers)) as batches:
            while not self.is_finished and not self.stop_requested:
                figures = self._update(batches)
                self.counters.seconds = self.clock() - began
                self.reporter.on_step(figures | {"seconds": self.counters.seconds})
                step = self.counters.step
                if step % self.config.validation.every == 0 or self.is_finished:
                    self.reporter.on_validation(self.validate())
                if step % self.config.save_every == 0 or self.is_finished:
                    self._save(snapshot=True)
        self._save(snapshot=False)

    @property
    def is_finished(self) -> bool:
        """True after the last step of the schedule."""
        return self.counters.step >= self.config.schedule.steps

    def validate(self) -> dict[str, float]:
        """Cross-entropy and BLEU on the held-out pairs, by name and direction."""
        figures: dict[str, float] = {"step": self.counters.step}
        settings = self.config.validation
        self.model.eval()
        with precision.autocast(self.device, self._dtype):
            for held_out in self.held_out:
                name = f"{held_out.name}.{held_out.target_language}"
                figures[f"{name}.cross_entropy"] = held_out_loss(
                    self.model, self.tokenizer, held_out
                )
                if settings.bleu_pairs:
                    figures[f"{name}.bleu"] = greedy_bleu(
                        self.model, self.tokenizer, held_out, settings.bleu_pairs
                    )
        self.model.train()
        return figures

    def _save(self, *, snapshot: bool) -> None:
        """Write the state from which a later `Trainer` resumes this run."""
        if place := parameter_not_finite(self.model):
            raise self._diverged("a weight", self.counters.step, self.counters.position, place)
        if snapshot:  # first: after a crash between the two, the average must not lack a snapshot
            keep = self.config.average_last
            save_snapshot(self.run, self.model, self.counters.step, keep)
        save_state(self.run, self.model, self._optimizer, self.counters)

    def _update(self, batches: Iterator[tuple[Batch, Position]]) -> dict[str, float]:
        """Take one step over `accumulate` batches, in which all target tokens have equal weight."""
        taken = [next(batches) for _ in range(self.config.accumulate)]
        tokens = sum(int((batch.target != self.tokenizer.pad_id).sum()) for batch, _ in taken)
        smoothed, cross_entropy = 0.0, 0.0
        step, position = self.counters.step + 1, self.counters.position
        for batch, following in taken:
            loss = self._loss(batch)
            (loss.smoothed / tokens).backward()
            smoothed += loss.smoothed.item() / tokens
            cross_entropy += loss.cross_entropy.item() / tokens
            if not math.isfinite(smoothed):
                raise self._diverged("the loss", step, position, self._first_not_finite(batch))
            position = following
        self.model.clear_padding_gradient()
        if not math.isfinite(self._optimizer.clip()):
            place = self._first_not_finite(taken[-1][0])
            raise self._diverged("the gradient", step, self.counters.position, place)
        rate = learning_rate(step, self.config.schedule, self.model.config.d_model)
        self._optimizer.step(rate)
        self.counters = replace(
            self.counters, step=step, tokens=self.counters.tokens + tokens, position=position
        )
        return {
            "step": step,
            "loss": smoothed,
            "cross_entropy": cross_entropy,
            "learning_rate": rate,
            "tokens": self.counters.tokens,
        }

    def _loss(self, batch: Batch) -> Loss:
        source, target = (torch.from_numpy(side).long().to(self.device) for side in batch)
        with precision.autocast(self.device, self._dtype):
            hidden, wanted = teacher_forced(self.model, source, target)
            return smoothed_cross_entropy(
                hidden, self.model.output, wanted, self.config.label_smoothing
            )

    def _first_not_finite(self, batch: Batch) -> str:
        return first_not_finite(self.model, lambda: self._loss(batch))

    def _diverged(self, what: str, step: int, position: Position, place: str) -> TrainingError:
        """Describe a divergence: what is not finite, when, on which data, where, what is saved."""
        saved = latest_state(self.run)
        kept = f"the state of step {step_of(saved)} is kept" if saved else "nothing was saved yet"
        return TrainingError(
            f"{what} is not finite at step {step} (chunk {position.chunk}, batch "
            f"{position.batch}), first in {place}; {kept}; "
            f"try a lower schedule.peak or optimizer.clip_norm 1"
        )
