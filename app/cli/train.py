"""`attend train`: trains a checkpoint from a recipe."""

import os
import signal
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Literal, get_args, get_origin

import click
import torch
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.cli.display.training_display import TrainingDisplay
from app.cli.options import path_type
from app.memory import keep_freed_memory
from app.shipped import recipe_path
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.engine.device import pick_device
from model.errors import ConfigError
from model.training.config import FROM_VOCABULARY, TrainingConfig, read_recipe
from model.training.finish import write_checkpoint
from model.training.log import LOG_FILE, read_log
from model.training.run import initial_shape, open_run
from model.training.state import latest_state
from model.training.trainer import Trainer
from model.training.update.precision import flushed_denormals
from model.training.update.processes import Processes
from model.training.warm_start import WarmStart
from model.transformer.config import TransformerConfig


def _hyperparameters(
    model: type[BaseModel], path: tuple[str, ...] = (), without: Collection[str] = ()
) -> list[click.Option]:
    """Return a flag for each scalar field of a recipe: `--schedule-peak` for `[schedule] peak`."""
    options: list[click.Option] = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            options += _hyperparameters(kind, (*path, name))
        elif name not in without and (value_type := _value_type(field)):
            flag = "--" + "-".join((*path, name)).replace("_", "-")
            variable = "__".join((*path, name))
            default = "the preset's" if path == ("model",) else field.default
            help_text = f"{field.description or ''} [default: {default}]".strip()
            options.append(click.Option([flag, variable], type=value_type, help=help_text))
    return options


def _value_type(field: FieldInfo) -> Any:
    """Return click's type for a field; None for lists and tables, which only a file can contain."""
    if get_origin(field.annotation) is Literal:
        return click.Choice(get_args(field.annotation))
    return field.annotation if field.annotation in (bool, int, float, str) else None


@click.command(epilog="Example: attend train recipes/en-fr.toml --schedule-steps 50000")
@click.argument("recipe", type=recipe_path)
@click.option(
    "--corpora", type=path_type, default=Path("corpora"), show_default=True,
    help="Folder with the recipe's files.",
)  # fmt: skip
@click.option(
    "--run", type=path_type, help="Folder for state, log and snapshots [default: runs/RECIPE]."
)
@click.option("--resume", is_flag=True, help="Resume the run in that folder exactly.")
@click.option(
    "--continue", "continues", is_flag=True,
    help="Start the run, or resume it if it was started: for containers that are restarted.",
)  # fmt: skip
@click.option(
    "--init", type=path_type, metavar="CHECKPOINT",
    help="Start from the weights and vocabulary of a checkpoint, with a new optimizer state.",
)  # fmt: skip
@click.option(
    "--adapt", is_flag=True,
    help="With --init: adapt to a deeper model, and to a vocabulary learnt from the corpora.",
)  # fmt: skip
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, …")
@click.option("--threads", type=click.IntRange(1), help="CPU threads [default: all cores].")
@click.option(
    "--workers", type=click.IntRange(0), default=0, show_default=True,
    help="Processes that prepare batches; use several for a GPU.",
)  # fmt: skip
@click.option(
    "--tensorboard", is_flag=True, help="Also write the log for TensorBoard, to RUN/tensorboard."
)
@click.option(
    "--checkpoint", type=path_type,
    help="Folder for the finished checkpoint [default: RUN/checkpoint].",
)  # fmt: skip
@click.option(
    "--finish", is_flag=True, help="Do not train; write a checkpoint from what the run has saved."
)
@click.option(
    "--plot", type=path_type, metavar="FILE",
    help="Do not train; plot the run's log to a .png, .svg or .pdf file.",
)  # fmt: skip
def train(
    *,
    recipe: Path,
    corpora: Path,
    run: Path | None,
    resume: bool,
    continues: bool,
    init: Path | None,
    adapt: bool,
    device: str,
    threads: int | None,
    workers: int,
    tensorboard: bool,
    checkpoint: Path | None,
    finish: bool,
    plot: Path | None,
    **overrides: str | float | None,
) -> None:
    """Train a Transformer from RECIPE, a TOML file or a shipped one's name (first, en-fr).

    Ctrl-C saves and stops; --resume continues. The last step writes the averaged checkpoint. Every
    hyperparameter also has a flag, which overrides the recipe.
    """
    run = run or Path("runs") / recipe.stem
    for other, is_given in (("--continue", continues), ("--init", init)):
        if resume and is_given:
            raise click.UsageError(f"--resume and {other} exclude each other")
    if adapt and not init:
        raise click.UsageError("--adapt requires --init")
    resume = resume or (continues and latest_state(run) is not None)
    origin = load_checkpoint(init) if init and not resume else None
    config = _read(recipe, overrides, run, origin)
    checkpoint = checkpoint or run / "checkpoint"
    if plot:
        try:
            from app.cli.display.training_plot import draw_log
        except ImportError:
            raise click.ClickException("--plot needs matplotlib: pip install matplotlib") from None
        draw_log(read_log(run / LOG_FILE), recipe.stem, plot)
        click.echo(f"wrote {plot}")
    if not (plot or finish):
        keep_freed_memory()
        if threads:
            torch.set_num_threads(threads)
        name = pick_device(device)
        if name == "cuda" and (local_rank := os.environ.get("LOCAL_RANK")):
            name = f"cuda:{local_rank}"  # each process of a machine has its own
            torch.cuda.set_device(name)
        own_device = torch.device(name)
        processes = Processes.from_environment(own_device)
        if processes.is_first:
            click.echo(f"reading {corpora}", err=True)
        log = run / LOG_FILE if processes.is_first else None
        scalars = _tensorboard(run) if tensorboard and processes.is_first else None
        with TrainingDisplay(log, config.schedule.steps, scalars) as display:
            trainer = open_run(
                config,
                run,
                corpora,
                display,
                own_device,
                resume=resume,
                workers=workers,
                init=WarmStart(origin, adapt) if origin else None,
                processes=processes,
            )
            display.start(trainer.counters, trainer.model.n_parameters())
            _save_on_interrupt(trainer)
            with flushed_denormals():
                trainer.train()
        processes.leave()
        if not processes.is_first:
            return
        if not trainer.is_finished:
            step = trainer.counters.step
            click.echo(f"stopped and saved at step {step}; continue with --resume", err=True)
            return
    if not plot or finish:
        write_checkpoint(run, config, recipe.stem, checkpoint)
        click.echo(f"wrote {checkpoint}")


train.params += _hyperparameters(TrainingConfig)
train.params += _hyperparameters(TransformerConfig, ("model",), FROM_VOCABULARY)


def _tensorboard(run: Path) -> Callable[[Mapping[str, float]], None]:
    """Return a function that writes a line of the log as scalars, under their names in it."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        message = "--tensorboard needs the extra tensorboard, or pip install tensorboard"
        raise click.ClickException(message) from None
    writer = SummaryWriter(str(run / "tensorboard"))

    def write(figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            if name != "step":
                writer.add_scalar(name.replace(".", "/"), value, int(figures["step"]))
        writer.flush()

    return write


def _read(
    recipe: Path, overrides: dict[str, str | float | None], run: Path, origin: Checkpoint | None
) -> TrainingConfig:
    """Return the recipe, overridden by the given flags. Raises `ModelError`.

    A recipe without a shape has that of the checkpoint which the run starts or started from.
    """
    values = read_recipe(recipe)
    given = {name: value for name, value in overrides.items() if value is not None}
    for name, value in given.items():
        table = values
        *tables, key = name.split("__")
        for one in tables:
            table = table.setdefault(one, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{recipe}: '{one}': expected a table")
        table[key] = value
    if not values.keys() & {"preset", "model"} and (shape := initial_shape(run, origin)):
        values["model"] = shape
    return TrainingConfig.parse(values, f"{recipe} with flags" if given else str(recipe))


def _save_on_interrupt(trainer: Trainer) -> None:
    """On the first Ctrl-C or SIGTERM, finish the step, save and stop; on the second, exit."""

    def request_stop(number: int, _frame: FrameType | None) -> None:
        trainer.stop_requested = True
        signal.signal(number, signal.default_int_handler)

    signal.signal(signal.SIGINT, request_stop)
    signal.signal(signal.SIGTERM, request_stop)
