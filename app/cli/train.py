"""`attend train`: a recipe in, a checkpoint out."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Any

import click
import torch
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.cli.training_display import TrainingDisplay
from model.device import pick_device
from model.training.config import TrainingConfig, read_recipe
from model.training.finish import write_checkpoint
from model.training.memory import keep_freed_memory
from model.training.run import LOG_FILE, open_run
from model.training.trainer import Trainer


def _hyperparameters(model: type[BaseModel], path: tuple[str, ...] = ()) -> list[click.Option]:
    """A flag for every single-valued field of a recipe, `--schedule-peak` for `[schedule] peak`."""
    options: list[click.Option] = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            options += _hyperparameters(kind, (*path, name))
        elif _is_single(field):
            flag = "--" + "-".join((*path, name)).replace("_", "-")
            options.append(
                click.Option([flag, "__".join((*path, name))], help=_help(field), metavar="VALUE")
            )
    return options


def _is_single(field: FieldInfo) -> bool:
    return field.annotation in (int, float, str) or "Literal" in str(field.annotation)


def _help(field: FieldInfo) -> str:
    default = "" if field.is_required() else f" [paper's or default: {field.default}]"
    return f"{field.description or ''}{default}".strip()


def _with_hyperparameters(command: click.Command) -> click.Command:
    command.params += _hyperparameters(TrainingConfig)
    return command


@_with_hyperparameters
@click.command(
    epilog="Example: attend train recipes/en-fr.toml --corpora corpora --run runs/en-fr --schedule-steps 50000"
)
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option(
    "--corpora", type=click.Path(path_type=Path), default=Path("corpora"), show_default=True,
    help="Folder that the recipe's files are in.",
)  # fmt: skip
@click.option(
    "--run", type=click.Path(path_type=Path), default=None,
    help="Folder for state, log and snapshots [default: runs/ and the recipe's name].",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with the run in that folder, exactly.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, …")
@click.option("--threads", type=int, default=None, help="CPU threads [default: all cores].")
@click.option(
    "--workers", type=click.IntRange(0), default=0, show_default=True,
    help="Processes that prepare batches ahead; a GPU wants several.",
)  # fmt: skip
@click.option(
    "--checkpoint", type=click.Path(path_type=Path), default=None,
    help="Where the finished checkpoint goes [default: RUN/checkpoint].",
)  # fmt: skip
def train(
    recipe: Path,
    corpora: Path,
    run: Path | None,
    resume: bool,
    device: str,
    threads: int | None,
    workers: int,
    checkpoint: Path | None,
    **overrides: str | None,
) -> None:
    """Train a Transformer by RECIPE, a TOML file; every hyperparameter is also a flag.

    Ctrl-C saves and stops; --resume goes on. The last step writes the averaged checkpoint.
    """
    keep_freed_memory()
    if threads:
        torch.set_num_threads(threads)
    values = read_recipe(recipe)
    for path, value in overrides.items():
        if value is not None:
            _set(values, path.split("__"), value)
    config = TrainingConfig.parse(values, str(recipe))
    run = run or Path("runs") / recipe.stem
    with TrainingDisplay(run / LOG_FILE, config.schedule.steps) as display:
        trainer = open_run(
            config, run, corpora, display, pick_device(device), resume=resume, workers=workers
        )
        display.begin(trainer.counters, trainer.model.n_parameters())
        _save_on_interrupt(trainer)
        trainer.train()
    if trainer.stop_requested:
        click.echo(f"stopped at step {trainer.counters.step}; --resume goes on", err=True)
        return
    folder = write_checkpoint(
        trainer, name=recipe.stem, destination=checkpoint or run / "checkpoint"
    )
    click.echo(f"wrote {folder}")


def _set(values: dict[str, Any], path: list[str], value: str) -> None:
    for key in path[:-1]:
        values = values.setdefault(key, {})
    values[path[-1]] = value


def _save_on_interrupt(trainer: Trainer) -> None:
    """First Ctrl-C or SIGTERM: finish the step, save, stop. Second: the usual."""

    def request_stop(number: int, frame: FrameType | None) -> None:
        trainer.stop_requested = True
        signal.signal(number, signal.default_int_handler)

    signal.signal(signal.SIGINT, request_stop)
    signal.signal(signal.SIGTERM, request_stop)
