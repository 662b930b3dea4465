"""The `attend` command: the group of verbs, each imported only when it is run.

Exit codes: 0 success, also if the reader of the output leaves early; 1 failure (one line on stderr
gives the reason); 2 usage error; 130 Ctrl-C (128 + SIGINT, as a shell reports it).
"""

import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from app import __version__
from app.errors import AppError, InvalidRequestError
from model.errors import ModelError

# Verb → module and help text, so that `attend --help` imports no verb.
VERBS = {
    "serve": ("app.cli.serve", "Serve checkpoints over HTTP."),
    "translate": ("app.cli.translate", "Translate a text, standard input line by line, or files."),
    "pull": ("app.cli.pull", "Fetch models for `attend serve`."),
    "models": ("app.cli.models", "Show the models in a folder."),
    "corpus": ("app.cli.corpus", "Fetch public sentence pairs to train on."),
    "train": ("app.cli.train", "Train a checkpoint from a recipe."),
    "evaluate": ("app.cli.evaluate", "Score a checkpoint on test files with BLEU and chrF."),
    "align": ("app.cli.align", "Link the words of sentence pairs by the model's attention."),
    "inspect": ("app.cli.inspect", "Show an architecture with the paper's names."),
    "golden": ("app.cli.golden", "Record translations that a server verifies at start."),
    "init": ("app.cli.init", "Write a checkpoint with random weights."),
    "import": ("app.cli.import_", "Convert another project's model to a checkpoint."),
    "export": ("app.cli.export", "Convert a checkpoint to another project's model."),
}


NOT_ENOUGH_MEMORY = "not enough memory, or a limit on it (ulimit -v, cgroups) is too low"


class Failure(click.ClickException):
    """A failure reported as one line, `attend: <line>`, with exit code 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        line = " ".join(self.format_message().split())
        click.echo(f"attend: {line}", file=file, err=file is None)


class VerbGroup(click.Group):
    """Finds verbs in `VERBS` and converts this project's errors to `Failure`."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        module = VERBS[cmd_name][0]
        gc.disable()  # imports leave no garbage; looking for it takes a tenth of their time
        try:
            command: click.Command = getattr(
                importlib.import_module(module), module.rpartition(".")[2]
            )
        except (ImportError, OSError, RuntimeError) as error:  # of libraries that are not mapped
            if not _memory_is_limited():
                raise
            raise Failure(f"{NOT_ENOUGH_MEMORY}: {error}") from None
        finally:
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest similar verbs for an unknown one."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=VERBS, ctx=ctx) from None

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, row[1]) for verb, row in VERBS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a verb; a closed standard stream (`<&-`) is the null device, as in a daemon."""
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Also convert errors of --help and --version, which print while they are parsed."""
        with _failures():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _failures():
            return super().invoke(ctx)


@contextmanager
def _failures() -> Iterator[None]:
    """Convert this project's errors to `Failure`, and those of signals and pipes to exit codes."""
    try:
        yield
    except InvalidRequestError as error:
        reasons = "; ".join(f"{item.pointer[1:]}: {item.detail}" for item in error.errors)
        raise Failure(reasons) from None
    except (ModelError, AppError) as error:
        raise Failure(str(error)) from None
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise Failure("this needs torch, which is not installed") from None
    except MemoryError:
        raise Failure(NOT_ENOUGH_MEMORY) from None
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    except BrokenPipeError:
        # Python flushes standard output at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        if error.errno is None:
            raise
        file = f"{error.filename}: " if error.filename else ""
        raise Failure(f"{file}{error.strerror}") from None


def _memory_is_limited() -> bool:
    """Whether a limit on the address space is set (`ulimit -v`), where there are such limits."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


@click.group(
    name="attend",
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Example: attend translate "The weather is nice today."',
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Translate with Transformer checkpoints: serve, train and inspect them."""
