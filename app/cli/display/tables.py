"""Tables on standard output, and those of `attend align --gold`."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from model.alignment.from_attention import AlignmentMethod
from model.alignment.gold import AlignmentScores, Trial

SHOWN_HEADS = 10
"""Maximum heads in the table."""

_PIPE_WIDTH = 140
"""Columns without a terminal; the rows of the presets fit."""


def counted(number: int, noun: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class _Console(Console):
    """Standard output."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, which ends a verb with 0; rich would exit with 1."""
        raise BrokenPipeError


def print_table(table: Table) -> None:
    """Print a table; rich assumes 80 columns for a pipe, which would truncate it."""
    console = _Console()
    (console if console.is_terminal else _Console(width=_PIPE_WIDTH)).print(table)


def describe_method(method: AlignmentMethod) -> str:
    """Describe a method in one line."""
    return (
        f"layer {_named(method.layer, 'last')}, head {_named(method.head, 'mean')}, "
        f"{method.position} position, {'both' if method.both_directions else 'one'} "
        f"direction{'s' if method.both_directions else ''}, {method.symmetrisation}, "
        f"threshold {method.threshold:g}"
    )


def describe_scores(scores: AlignmentScores) -> str:
    """Describe scores in one line."""
    aer, precision, recall = _cells(scores)
    return f"AER {aer}, precision {precision}, recall {recall}"


def print_heads(trials: Sequence[Trial]) -> None:
    """Print the best heads, given trials sorted from the best."""
    title = f"Heads by argmax, one direction; the best {SHOWN_HEADS} of {len(trials)}"
    table = _table(title, "Layer", "Head", "Position")
    for trial in trials[:SHOWN_HEADS]:
        method = trial.method
        head = _named(method.head, "mean")
        table.add_row(str(method.layer), head, method.position, *_cells(trial.scores))
    print_table(table)


def print_readings(trials: Sequence[Trial]) -> None:
    """Print the methods of reading links from one head."""
    table = _table("Methods of reading the best head", "Directions", "Links", "Threshold")
    for trial in trials:
        method = trial.method
        directions = "both" if method.both_directions else "one"
        threshold = f"{method.threshold:g}"
        table.add_row(directions, method.symmetrisation, threshold, *_cells(trial.scores))
    print_table(table)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading)
    for heading in ("AER", "Precision", "Recall"):
        table.add_column(heading, justify="right")
    return table


def _cells(scores: AlignmentScores) -> list[str]:
    return [f"{value:.3f}" for value in (scores.aer, scores.precision, scores.recall)]


def _named(index: int | None, otherwise: str) -> str:
    return otherwise if index is None else str(index)
