"""Progress bars on terminals."""

import os
import stat
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, Self

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from app.cli.display.tables import counted


def progress_bar(
    *columns: ProgressColumn | str,
    console: Console | None = None,
    visible: bool = True,
    transient: bool = True,
) -> Progress:
    """Return a bar on stderr, or another console; it is invisible unless that is a terminal.

    transient  whether it disappears at the end
    """
    console = console or Console(stderr=True)
    disable = not (visible and console.is_terminal)
    return Progress(*columns, console=console, disable=disable, transient=transient)


def counted_progress() -> Progress:
    """Return a bar for work of known size."""
    return progress_bar(
        "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )


def download_progress() -> Progress:
    """Return a bar for bytes, which stays."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    return progress_bar("{task.description}", *columns, transient=False)


_CHUNK_BYTES = 2**20


class TranslationProgress:
    """Counts lines and flags; shows a bar if stderr is a terminal and the output goes elsewhere.

    lines  number of lines to come, if known
    """

    def __init__(self, lines: int | None, *, list_flags: bool = False) -> None:
        self._list_flags = list_flags
        self._count = 0
        self._flagged = 0
        self._flags: Counter[str] = Counter()
        self._progress = progress_bar(
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
            "left" if lines else "",
            visible=not sys.stdout.isatty(),
        )
        self._task = self._progress.add_task("", total=lines)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        if self._flagged:
            counts = ", ".join(f"{flag} {count:,}" for flag, count in self._flags.most_common())
            hint = "" if self._list_flags else "; --flags lists them"
            lines = f"{self._flagged:,} of {counted(self._count, 'line')}"
            click.echo(f"attend: flags in {lines}: {counts}{hint}", err=True)

    def on_line(self, flags: Sequence[str]) -> None:
        self._count += 1
        self._progress.advance(self._task)
        if not flags:
            return
        self._flagged += 1
        self._flags.update(flags)
        if self._list_flags:
            self._progress.console.print(
                f"attend: line {self._count}: {', '.join(flags)}", highlight=False, soft_wrap=True
            )


class _File(Protocol):
    def fileno(self) -> int: ...


def count_lines(file: _File) -> int | None:
    """Return the number of lines in a regular file from its current offset, else None."""
    try:
        descriptor = file.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        offset, count, last = os.lseek(descriptor, 0, os.SEEK_CUR), 0, b"\n"
        while chunk := os.pread(descriptor, _CHUNK_BYTES, offset):
            count += chunk.count(b"\n")
            offset += len(chunk)
            last = chunk[-1:]
    except OSError:
        return None
    return count + (last != b"\n")
