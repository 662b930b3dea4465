"""Options shared by several benchmarks, and the setups that most of them name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import get_args

import click

from app.shipped import SHIPPED_CHECKPOINT
from benchmarks.checkpoints import DEFAULT_WORK, endless_checkpoint, random_checkpoint
from benchmarks.report import Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.server import Server, attend_server
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.engine.build import build_engines
from model.engine.protocol import Engine, PrecisionChoice
from model.transformer.config import PRESETS

benchmark = click.command(context_settings={"show_default": True})
"""A decorator that makes a function a benchmark's command, whose help shows defaults."""

Option = Callable[[Callable[..., None]], Callable[..., None]]
"""A decorator that gives a command an option."""

_path = click.Path(path_type=Path)

checkpoint_option = click.option(
    "--checkpoint", type=_path, default=SHIPPED_CHECKPOINT,
    show_default="the shipped one", help="Checkpoint folder.",
)  # fmt: skip
sentences_option = click.option(
    "--sentences", type=_path, default=FIXTURE,
    show_default="48 included sentences", help="File to translate, its first column.",
)  # fmt: skip
threads_option = click.option("--threads", type=click.IntRange(1), default=2, help="Per system.")
random_option = click.option(
    "--random", "preset", type=click.Choice(list(PRESETS)),
    help="Use random weights of a preset instead of a checkpoint.",
)  # fmt: skip
precision_option = click.option(
    "--precision", type=click.Choice(get_args(PrecisionChoice)), default="auto",
    help="Precision of attend, as in `attend serve`.",
)  # fmt: skip
beam_option = click.option("--beam", type=click.IntRange(1, 8), default=4)
peers_option = click.option("--peers/--no-peers", default=True, help="Compare with peers or not.")
work_option = click.option(
    "--work", type=_path, default=DEFAULT_WORK,
    show_default="in ~/.cache", help="Folder for converted checkpoints.",
)  # fmt: skip
json_option = click.option("--json", "json_file", type=_path, help="Write the result to FILE.")


def rounds_option(default: int) -> Option:
    """Return the option --rounds: how often all systems are measured in turn."""
    return click.option("--rounds", type=click.IntRange(1), default=default)


@dataclass(frozen=True)
class EngineSetup:
    """Whose engines are measured, and where the result goes."""

    checkpoint: Path
    threads: int
    precision: PrecisionChoice
    json_file: Path | None

    def load(self) -> tuple[Checkpoint, list[Engine]]:
        """Read the checkpoint and build its engines. Raises as `load_checkpoint`."""
        loaded = load_checkpoint(self.checkpoint)
        return loaded, build_engines(loaded, self.precision, self.threads)

    def publish(self, report: Report) -> None:
        """Print the report, and write it if a file was named."""
        publish(report, self.json_file)


@dataclass(frozen=True)
class Setup(EngineSetup):
    """What is measured, on what, and where the result goes."""

    sentences: Path

    def texts(self, n: int | None = None) -> list[str]:
        """Read n sentences. Raises as `read_sentences`."""
        return read_sentences(self.sentences, n)

    def server(self, *flags: str) -> Server:
        """Return `attend serve` with this setup."""
        return attend_server(self.checkpoint, self.threads, self.precision, *flags)


def engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of an `EngineSetup`, which is its first argument."""
    return _with_setup(
        EngineSetup, command, json_option, precision_option, threads_option, checkpoint_option
    )


def setup_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a `Setup`, which is its first argument."""
    return _with_setup(
        Setup, command, json_option, precision_option, threads_option, sentences_option,
        checkpoint_option,
    )  # fmt: skip


def _with_setup(
    kind: type[EngineSetup], command: Callable[..., None], *options: Option
) -> Callable[..., None]:
    """Gather the options, the last of which the help shows first, in a setup of that kind."""

    @wraps(command)
    def with_setup(**values: object) -> None:
        setup = kind(**{one.name: values.pop(one.name) for one in fields(kind)})  # type: ignore[arg-type]
        command(setup, **values)

    with_options: Callable[..., None] = with_setup
    for option in options:
        with_options = option(with_options)
    return with_options


def weights_to_measure(
    checkpoint: Path, preset: str | None, target_tokens: int | None, work: Path
) -> Path:
    """Return the checkpoint, or one of random weights; endless if all lengths are to be the same.

    Raises `click.UsageError`.
    """
    if preset:
        checkpoint = random_checkpoint(preset, work)
        if target_tokens is None:
            raise click.UsageError(
                "--random requires --target-tokens: its lengths are meaningless."
            )
    return endless_checkpoint(checkpoint, work) if target_tokens else checkpoint
