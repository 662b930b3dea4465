"""The training loop of §5: batches in, updates, measurements, saves; resumable at every save."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from model.errors import TrainingError
from model.tokenizer import Tokenizer
from model.training import precision
from model.training.batches import Batch, BatchStream, Position
from model.training.config import TrainingConfig
from model.training.loss import smoothed_cross_entropy
from model.training.optimizer import Optimizer
from model.training.schedule import learning_rate
from model.training.snapshots import save_snapshot
from model.training.state import Counters, latest_state, load_state, save_state
from model.training.validation import HeldOut, greedy_bleu, held_out_loss, teacher_forced
from model.transformer import Transformer


class Reporter(Protocol):
    """Where a run's figures go; each is a flat mapping that can be written as one JSON line."""

    def on_step(self, figures: dict[str, float]) -> None:
        """After an update: step, loss, cross_entropy, learning_rate, tokens, seconds, …"""

    def on_validation(self, figures: dict[str, float]) -> None:
        """After a measurement on held-out pairs."""

    def on_save(self, step: int) -> None:
        """After the state was written."""


@dataclass
class Trainer:
    """One run in its folder. `train` goes on from the newest saved state, if there is one."""

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
        """Run to the last step or to `stop_requested`, and save. Raises `TrainingError` on NaN."""
        batches = self.stream.batches(self.counters.position, self.workers)
        self.model.train()
        began = self.clock() - self.counters.seconds
        while self.counters.step < self.config.schedule.steps and not self.stop_requested:
            figures = self._update(batches)
            self.counters.seconds = self.clock() - began
            self.reporter.on_step(figures | {"seconds": self.counters.seconds})
            step = self.counters.step
            is_last = step == self.config.schedule.steps
            if step % self.config.validation.every == 0 or is_last:
                self.reporter.on_validation(self.validate())
            if step % self.config.save_every == 0 or is_last:
                self.save()
                save_snapshot(self.run, self.model, step, keep=self.config.average_last)
        if self.stop_requested:
            self.save()

    def save(self) -> None:
        """Write the state that a later `Trainer` of this run begins with."""
        save_state(self.run, self.model, self._optimizer, self.counters)
        self.reporter.on_save(self.counters.step)

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

    def _update(self, batches: Iterator[tuple[Batch, Position]]) -> dict[str, float]:
        """One step of the optimizer over `accumulate` batches, every target token weighing the same."""
        taken = [next(batches) for _ in range(self.config.accumulate)]
        tokens = sum(int((batch.target != self.tokenizer.pad_id).sum()) for batch, _ in taken)
        smoothed, cross_entropy = 0.0, 0.0
        for batch, _ in taken:
            source, target = self._on_device(batch)
            with precision.autocast(self.device, self._dtype):
                hidden, wanted = teacher_forced(self.model, source, target)
                loss = smoothed_cross_entropy(
                    hidden, self.model.output, wanted, self.config.label_smoothing
                )
            (loss.smoothed / tokens).backward()
            smoothed += loss.smoothed.item() / tokens
            cross_entropy += loss.cross_entropy.item() / tokens
            if not math.isfinite(smoothed):
                raise TrainingError(self._where_not_finite(source, target))
        step = self.counters.step + 1
        rate = learning_rate(step, self.config.schedule, self.model.config.d_model)
        self._optimizer.step(rate)
        self.counters = replace(
            self.counters, step=step, tokens=self.counters.tokens + tokens, position=taken[-1][1]
        )
        return {
            "step": step,
            "loss": smoothed,
            "cross_entropy": cross_entropy,
            "learning_rate": rate,
            "tokens": self.counters.tokens,
        }

    def _on_device(self, batch: Batch) -> tuple[Tensor, Tensor]:
        source, target = (torch.from_numpy(side).long() for side in batch)
        return source.to(self.device), target.to(self.device)

    @torch.no_grad()
    def _where_not_finite(self, source: Tensor, target: Tensor) -> str:
        """One line: the step, its place in the data, and the first tensor that is not finite."""
        found: list[str] = [
            f"parameter {name}"
            for name, value in self.model.named_parameters()
            if not value.isfinite().all()
        ]

        def watch(name: str) -> Callable[..., None]:
            def look(module: Any, inputs: Any, output: Any) -> None:
                if isinstance(output, Tensor) and not output.isfinite().all():
                    found.append(f"output of {name}")

            return look

        hooks = [
            module.register_forward_hook(watch(name))
            for name, module in self.model.named_modules()
            if name
        ]
        with precision.autocast(self.device, self._dtype):
            teacher_forced(self.model, source, target)
        for hook in hooks:
            hook.remove()
        chunk, batch = self.counters.position
        return (
            f"loss is not finite at step {self.counters.step + 1} (chunk {chunk}, batch {batch}): "
            f"first in {found[0] if found else 'the loss itself'}; "
            f"the last saved state is untouched; try a lower schedule.peak or optimizer.clip_norm 1"
        )
