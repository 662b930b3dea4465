"""The training loop of §5: batches in, updates, measurements, saves; resumable at every save."""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import torch

from model.errors import TrainingError
from model.text.text_codec import TrainingCodec
from model.training.config import TrainingConfig
from model.training.data.batches import Batch, BatchStream, Position
from model.training.data.filters import FilterCounts
from model.training.int8.layers import use_int8_products
from model.training.snapshots import MovingAverage, save_best, save_snapshot
from model.training.state import Counters, latest_state, load_state, save_state, step_of
from model.training.update import precision
from model.training.update.divergence import first_not_finite, parameter_not_finite
from model.training.update.loss import Loss, smoothed_cross_entropy
from model.training.update.optimizer import Optimizer
from model.training.update.processes import ALONE, Processes
from model.training.validation import (
    MOSTLY_DEAD,
    DeadShares,
    DeadUnits,
    HeldOut,
    greedy_bleu,
    held_out_loss,
    share_right,
    teacher_forced,
)
from model.transformer.transformer import Transformer


class Part(NamedTuple):
    """One batch of an update, its position in the stream, and the position after it."""

    batch: Batch
    position: Position
    following: Position


class Reporter(Protocol):
    """Receives a run's metrics as flat mappings, each of which fits one JSON line; see `Log`."""

    def on_corpus(self, name: str, counts: FilterCounts) -> None:
        """After a corpus is read and filtered."""

    def on_step(self, figures: dict[str, float]) -> None:
        """After an update."""

    def on_validation(self, figures: dict[str, float]) -> None:
        """After a measurement on held-out pairs."""

    def on_warning(self, message: str) -> None:
        """When something looks wrong but the run continues."""


@dataclass
class Trainer:
    """One run in its folder. `train` resumes from the newest saved state, if any."""

    config: TrainingConfig
    run: Path
    tokenizer: TrainingCodec
    stream: BatchStream
    held_out: list[HeldOut]
    reporter: Reporter
    device: torch.device
    workers: int = 0
    processes: Processes = ALONE
    clock: Callable[[], float] = time.monotonic
    model: Transformer = field(init=False)
    stop_requested: bool = field(init=False, default=False)
    _stop_agreed: bool = field(init=False, default=False)
    _known_dead: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        torch.manual_seed(self.config.seed)
        self.model = Transformer(self.config.shape_for(self.tokenizer)).to(self.device)
        self._dtype = precision.resolve(self.config.precision, self.device)
        if self.device.type == "cpu" and self._dtype == torch.bfloat16:
            precision.keep_attention_in_float32(self.model)
        if self.config.precision == "int8":
            use_int8_products(self.model.encoder)
            use_int8_products(self.model.decoder)
            if warning := precision.slow_int8():
                self.reporter.on_warning(warning)
        products = self._dtype if self.device.type == "cpu" else torch.bfloat16
        self._optimizer = Optimizer(self.model, self.config.optimizer, products, self.processes)
        self.counters = Counters()
        self._average = MovingAverage(self.config.ema)
        if saved := latest_state(self.run):
            self.counters = load_state(saved, self.model, self._optimizer)
            if self.counters.step:
                self._average = MovingAverage.load(saved, self.config.ema, self.device)

    def train(self) -> None:
        """Run until the last step or `stop_requested`, then save. Raises `TrainingError` on NaN."""
        self.model.train()
        began = self.clock() - self.counters.seconds
        with closing(self.stream.batches(self.counters.position, self.workers)) as batches:
            while not self.is_finished and not self._is_stopping:
                figures = self._update(batches)
                self.counters.seconds = self.clock() - began
                self.reporter.on_step(figures | {"seconds": self.counters.seconds})
                step = self.counters.step
                if step % self.config.validation.every == 0 or self.is_finished:
                    self._measure()
                if step % self.config.save_every == 0 or self.is_finished:
                    self._save(snapshot=True)
        self._save(snapshot=False)

    @property
    def _is_stopping(self) -> bool:
        """Whether a stop was requested and every process knows it."""
        return self._stop_agreed if self.processes.count > 1 else self.stop_requested

    @property
    def is_finished(self) -> bool:
        """Whether the schedule ended, or `patience` measurements brought no improvement."""
        patience = self.config.validation.patience
        is_stale = bool(patience) and self.counters.stale >= patience
        return is_stale or self.counters.step >= self.config.schedule.steps

    def _measure(self) -> None:
        """Validate, report, and compare with the best step, in all processes alike."""
        outcome = torch.zeros(1, dtype=torch.float64)
        if self.processes.is_first:
            figures = self.validate()
            self.reporter.on_validation(figures)
            outcome[0] = self._score(figures)
        self.processes.broadcast([outcome], 0)
        best = self.counters.best
        if best is None or outcome.item() < best:
            self.counters = replace(self.counters, best=outcome.item(), stale=0)
            if self.config.validation.keep_best and self.processes.is_first:
                save_best(self.run, self.model)
        else:
            self.counters = replace(self.counters, stale=self.counters.stale + 1)

    def _score(self, figures: dict[str, float]) -> float:
        """Return the mean of the metric over all sets; smaller is better."""
        metric = self.config.validation.metric
        values = [value for name, value in figures.items() if name.endswith(f".{metric}")]
        mean = sum(values) / len(values) if values else math.inf
        return -mean if metric == "bleu" else mean

    def validate(self) -> dict[str, float]:
        """Measure cross-entropy and BLEU of each held-out set, and dead units."""
        figures: dict[str, float] = {"step": self.counters.step}
        settings = self.config.validation
        self.model.eval()
        with precision.autocast(self.device, self._dtype), DeadUnits(self.model) as units:
            for held_out in self.held_out:
                name = f"{held_out.name}.{held_out.target_language}"
                figures[f"{name}.cross_entropy"] = held_out_loss(
                    self.model, self.tokenizer, held_out, units
                )
                if held_out.is_exact:
                    figures[f"{name}.right"] = share_right(self.model, self.tokenizer, held_out)
                elif settings.bleu_pairs:
                    figures[f"{name}.bleu"] = greedy_bleu(
                        self.model, self.tokenizer, held_out, settings.bleu_pairs
                    )
        self.model.train()
        if dead := units.found():
            figures |= {"dead_units": dead.overall, "dead_units_worst": dead.worst}
            self._warn_of(dead)
        return figures

    def _warn_of(self, dead: DeadShares) -> None:
        """Warn once of each layer that is mostly dead."""
        if new := [layer for layer in dead.mostly_dead if layer not in self._known_dead]:
            self._known_dead.update(new)
            self.reporter.on_warning(
                f"more than {MOSTLY_DEAD:.0%} of the feed-forward units are never active in "
                f"{', '.join(new)}; try a lower schedule.peak or more schedule.warmup_steps"
            )

    def _save(self, *, snapshot: bool) -> None:
        """Write the state from which a later `Trainer` resumes this run."""
        if not self.processes.is_first:
            return
        if name := parameter_not_finite(self.model):
            raise self._diverged("a weight", self.counters.step, self.counters.position, name)
        if snapshot:  # before the state: after a crash in between, no snapshot is missing
            save_snapshot(self.run, self.model, self.counters.step, self.config.average_last)
        save_state(self.run, self.model, self._optimizer, self.counters, self._average.save)

    def _update(self, batches: Iterator[tuple[Batch, Position]]) -> dict[str, float]:
        """Take one step over `accumulate` batches, in which all target tokens have equal weight."""
        taken = self._take(batches)
        tokens = sum(int((part.batch.target != self.tokenizer.pad_id).sum()) for part in taken)
        ours = [taken[index] for index in self.processes.share(len(taken))]
        sums = torch.zeros(3, dtype=torch.float64)
        faulty: list[Part] = []
        for part in ours:
            loss = self._loss(part)
            (loss.smoothed / tokens).backward()
            sums[0] += loss.smoothed.item() / tokens
            sums[1] += loss.cross_entropy.item() / tokens
            if not sums.isfinite().all():
                faulty.append(part)
        sums[2] = self.stop_requested
        self.processes.add_up([sums])
        self.processes.add_up(self._optimizer.gradients())
        smoothed, cross_entropy, n_stopping = sums.tolist()
        self._stop_agreed = n_stopping > 0
        if not math.isfinite(smoothed):
            raise self._diverged_in("the loss", faulty[:1])
        self.model.clear_padding_gradient()
        if not math.isfinite(self._optimizer.clip()):
            raise self._diverged_in("the gradient", ours[-1:])
        step = self.counters.step + 1
        rate = self.config.schedule.learning_rate(step, self.model.config.d_model)
        self._optimizer.step(rate)
        self._average.update(self.model, step)
        self.counters = replace(
            self.counters,
            step=step,
            tokens=self.counters.tokens + tokens,
            position=taken[-1].following,
        )
        return {
            "step": step,
            "loss": smoothed,
            "cross_entropy": cross_entropy,
            "learning_rate": rate,
            "tokens": self.counters.tokens,
        }

    def _take(self, batches: Iterator[tuple[Batch, Position]]) -> list[Part]:
        parts: list[Part] = []
        position = self.counters.position
        for batch, following in itertools.islice(batches, self.config.accumulate):
            parts.append(Part(batch, position, following))
            position = following
        return parts

    def _loss(self, part: Part) -> Loss:
        # Dropout and sampling depend only on the batch, not on the process or earlier steps.
        torch.manual_seed(Random(f"{self.config.seed} {part.position}").getrandbits(63))
        source, target = (torch.from_numpy(side).long().to(self.device) for side in part.batch)
        with precision.autocast(self.device, self._dtype):
            hidden, targets = teacher_forced(self.model, source, target)
            return smoothed_cross_entropy(
                hidden,
                self.model.output,
                targets,
                self.config.label_smoothing,
                self.config.loss_candidates,
            )

    def _diverged_in(self, what: str, parts: list[Part]) -> TrainingError:
        """Describe a divergence in the given part, or in another process if there is none."""
        step = self.counters.step + 1
        if not parts:
            return self._diverged(what, step, self.counters.position, "another process's batch")
        module = first_not_finite(self.model, lambda: self._loss(parts[0]))
        return self._diverged(what, step, parts[0].position, module)

    def _diverged(self, what: str, step: int, position: Position, module: str) -> TrainingError:
        saved = latest_state(self.run)
        kept = f"the state of step {step_of(saved)} is kept" if saved else "nothing was saved yet"
        return TrainingError(
            f"{what} is not finite at step {step} (chunk {position.chunk}, batch "
            f"{position.batch}), first in {module}; {kept}; "
            f"try a lower schedule.peak or optimizer.clip_norm 1"
        )
