"""Progress bars, which only a terminal shows."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


def progress_bar(
    *columns: ProgressColumn | str,
    console: Console | None = None,
    shown: bool = True,
    transient: bool = True,
) -> Progress:
    """Return a bar on stderr, or another console; it shows nothing if that is not a terminal.

    transient  whether it vanishes in the end
    """
    console = console or Console(stderr=True)
    disable = not (shown and console.is_terminal)
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
