"""Options shared by several benchmarks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import click

from app.shipped import SHIPPED_CHECKPOINT
from benchmarks.checkpoints import DEFAULT_WORK
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.server import Server, attend_server
from model.engine.protocol import PrecisionChoice


def benchmark(measure: Callable[..., None]) -> click.Command:
    """Decorate the command of a benchmark; its help shows defaults."""
    return click.command(context_settings={"show_default": True})(measure)


Option = Callable[[Callable[..., None]], Callable[..., None]]

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
precision_option = click.option(
    "--precision", type=click.Choice(get_args(PrecisionChoice)), default="auto",
    help="Precision of attend, as in `attend serve`.",
)  # fmt: skip
beam_option = click.option("--beam", type=click.IntRange(1, 8), default=4)


def _only_if_installed(_context: click.Context, _parameter: click.Parameter, peers: bool) -> bool:
    if peers and not find_spec("ctranslate2"):
        click.echo(
            "CTranslate2 is not installed (pip install -e '.[bench]') and left out", err=True
        )
        return False
    return peers


peers_option = click.option(
    "--peers/--no-peers", default=True, callback=_only_if_installed,
    help="Compare with peers or not.",
)  # fmt: skip
work_option = click.option(
    "--work", type=_path, default=DEFAULT_WORK,
    show_default="in ~/.cache", help="Folder for converted checkpoints.",
)  # fmt: skip
json_option = click.option("--json", "json_file", type=_path, help="Write the result to FILE.")


def rounds_option(default: int) -> Option:
    """Return the option --rounds."""
    return click.option(
        "--rounds", type=click.IntRange(1), default=default, help="Measurements per system."
    )


@dataclass(frozen=True)
class Setup:
    """The values of the options of `setup_options`."""

    checkpoint: Path
    sentences: Path
    threads: int
    precision: PrecisionChoice
    json_file: Path | None

    def texts(self, n: int | None = None) -> list[str]:
        return read_sentences(self.sentences, n)

    def server(self, *flags: str) -> Server:
        return attend_server(self.checkpoint, self.threads, self.precision, *flags)

    def publish(
        self,
        name: str,
        title: str,
        columns: Mapping[str, str],
        rows: Sequence[Mapping[str, Any]],
        notes: Sequence[str] = (),
        **settings: Cell,
    ) -> None:
        about: dict[str, Cell] = {
            "checkpoint": self.checkpoint.name,
            "sentences": self.sentences.name,
            "threads": self.threads,
        }
        publish(Report(name, title, about | settings, columns, rows, notes), self.json_file)


def grouped(kind: type[Any], name: str, *options: Option) -> Option:
    """Give a command options whose values become one argument, a dataclass."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_group(**values: Any) -> None:
            group = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
            command(**values, **{name: group})

        decorated: Callable[..., None] = with_group
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


setup_options = grouped(
    Setup, "setup",
    checkpoint_option, sentences_option, threads_option, precision_option, json_option,
)  # fmt: skip
