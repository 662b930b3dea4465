"""Progress bars on terminals."""

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
