"""The output of a training run: a progress bar, a line per measurement, log.jsonl."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import IO, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TimeRemainingColumn

from app.cli.display.progress import progress_bar
from model.training.data.filters import FilterCounts
from model.training.log import write_figures
from model.training.state import Counters

_LOG_EVERY = 50
"""Steps between log lines; each line is the mean over the steps since the last one."""

_EARLY = (1, 2, 5, 10, 20)
"""Steps after the start that also get a line, without a terminal."""


class TrainingDisplay:
    """A `Reporter`: on a terminal a live bar, elsewhere a line every `_LOG_EVERY` steps.

    Without `log`, as in all processes but the first, there is no output. `scalars` also gets every
    line of the log.
    """

    def __init__(
        self,
        log: Path | None,
        steps: int,
        scalars: Callable[[Mapping[str, float]], None] | None = None,
    ) -> None:
        self._path = log
        self._scalars = scalars
        self._log: IO[str] | None = None
        self._console = Console(stderr=True, quiet=log is None)
        self._progress = progress_bar(
            "step {task.completed:,}/{task.total:,}",
            BarColumn(),
            "{task.fields[figures]}",
            TimeRemainingColumn(),
            "left",
            console=self._console,
            visible=log is not None,
            transient=False,
        )
        self._steps = steps
        self._task: TaskID | None = None
        self._sums: dict[str, float] = {}
        self._count = 0
        self._first = Counters()
        self._last = Counters()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        if self._log:
            self._log.close()

    def start(self, counters: Counters, n_parameters: int) -> None:
        """Open the log and start the bar at the run's current step."""
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._log = self._path.open("a", encoding="utf-8", buffering=1)  # whole lines
        self._first = counters
        self._last = counters
        self._console.print(f"{n_parameters:,} parameters, from step {counters.step:,}")
        self._progress.start()
        self._task = self._progress.add_task(
            "", total=self._steps, completed=counters.step, figures="…"
        )

    def on_corpus(self, name: str, counts: FilterCounts) -> None:
        self._console.print(f"{name}: {counts}", highlight=False)

    def on_step(self, figures: dict[str, float]) -> None:
        """Add to the averages; write and print them periodically."""
        for name in ("loss", "cross_entropy"):
            self._sums[name] = self._sums.get(name, 0.0) + figures[name]
        self._count += 1
        step, tokens, seconds = int(figures["step"]), int(figures["tokens"]), figures["seconds"]
        if self._task is not None:
            self._progress.update(self._task, completed=step)
        speed = (tokens - self._last.tokens) / max(1e-9, seconds - self._last.seconds)
        if step % _LOG_EVERY and step != self._steps:
            if step - self._first.step in _EARLY:
                self._print(step, f"loss {figures['loss']:.3f}  {speed:,.0f} tokens/s", seconds)
            return
        means = {name: total / self._count for name, total in self._sums.items()}
        self._last = Counters(step, tokens, seconds)
        self._sums.clear()
        self._count = 0
        self._write(figures | means | {"tokens_per_second": speed})
        summary = f"loss {means['loss']:.3f}  {speed:,.0f} tokens/s"
        if self._task is not None:
            self._progress.update(self._task, figures=summary)
        self._print(step, summary, seconds)

    def _print(self, step: int, summary: str, seconds: float) -> None:
        if not self._console.is_terminal:
            # By the speed since the start: before a resume, the machine may have been another one.
            pace = (seconds - self._first.seconds) / (step - self._first.step)
            left = timedelta(seconds=round((self._steps - step) * pace))
            self._console.print(f"step {step:,}/{self._steps:,}  {summary}  {left} left")

    def on_validation(self, figures: dict[str, float]) -> None:
        """Write the measurement and print it above the bar."""
        self._write(figures)
        summary = "  ".join(filter(None, map(_formatted, figures, figures.values())))
        self._console.print(f"step {figures['step']:.0f}: {summary}", highlight=False)

    def on_warning(self, message: str) -> None:
        self._console.print(f"warning: {message}", highlight=False)

    def _write(self, figures: Mapping[str, float]) -> None:
        if self._log:
            write_figures(self._log, figures)
            if self._scalars:
                self._scalars(figures)


def _formatted(name: str, value: float) -> str:
    """Return a figure of a validation as printed; empty if it is in the log only."""
    if name.endswith(".cross_entropy"):
        return f"{name.removesuffix('.cross_entropy')} {value:.3f}"
    if name.endswith(".right"):
        return f"right {value:.1%}"
    if name.endswith(".bleu"):
        return f"BLEU {value:.1f}"
    return f"dead units {value:.1%}" if name == "dead_units" and value else ""
