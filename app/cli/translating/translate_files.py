"""`attend translate --file`: files, through a checkpoint in this process or a running server."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import click
from rich.progress import Progress

from app.cli.display.progress import counted_progress
from app.cli.translating.remote import RemoteTranslator
from app.documents.files import file_format
from app.errors import AppError, UnreadableFileError
from app.translation.file_service import FileRequest, translated_name

Report: TypeAlias = Callable[[int, int], None]
"""Receives how much is done, and of how much."""

TranslateFile: TypeAlias = Callable[[Path, Report], "Outcome"]


class FileError(AppError):
    """A file that could not be translated or written."""


@dataclass(frozen=True)
class Outcome:
    """A translated file, its name, and its members in the output of `--json`."""

    data: bytes
    name: str
    summary: dict[str, Any] = field(default_factory=dict)


def translate_files(
    files: Sequence[Path],
    output: Path | None,
    translate: TranslateFile,
    *,
    as_json: bool,
    overwrite: bool = False,
) -> None:
    """Translate and write every file, with a line of output for each. Raises `FileError`.

    output  a file for a single one, a folder for several, `-` for standard output, which then has
            no other lines; by default `report.docx` becomes `report.fr.docx` beside it
    """
    to_stdout = output == Path("-")
    if to_stdout and (len(files) > 1 or as_json):
        raise FileError("--output -: expected one --file, and no --json")
    for file in files:
        _check_format(file)
    if output and len(files) > 1:
        output.mkdir(parents=True, exist_ok=True)
    elif output and not (to_stdout or output.is_dir() or overwrite):
        _check_free(output)  # before the work
    with counted_progress() as progress:
        for file in files:
            began = time.perf_counter()
            done = _translate(file, translate, progress)
            path = _path(file, output, done.name)
            if not (to_stdout or overwrite):
                _check_free(path)
            with click.open_file(str(path), "wb") as destination:
                destination.write(done.data)
            seconds = round(time.perf_counter() - began, 2)
            summary = {"file": str(file), "output": str(path), **done.summary, "seconds": seconds}
            flags = ", ".join(f"{flag} ({n})" for flag, n in done.summary.get("flags", {}).items())
            if flags:
                click.echo(f"attend: {file}: {flags}", err=True)
            if not to_stdout:
                click.echo(json.dumps(summary, ensure_ascii=False) if as_json else str(path))


def _translate(file: Path, translate: TranslateFile, progress: Progress) -> Outcome:
    task = progress.add_task(file.name, total=None)

    def report(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total)

    try:
        return translate(file, report)
    except UnreadableFileError as error:
        raise FileError(f"{file}: {error}") from None
    finally:
        progress.remove_task(task)


def _check_format(file: Path) -> None:
    try:
        file_format(file.name)
    except UnreadableFileError as error:
        raise FileError(f"{file}: {error}") from None


def _check_free(path: Path) -> None:
    if path.exists() and not path.is_char_device():
        raise FileError(f"{path}: exists already; --overwrite replaces it")


def _path(file: Path, output: Path | None, name: str) -> Path:
    if output is None:
        return file.with_name(name)
    return output / name if output.is_dir() else output


def remote_files(translator: RemoteTranslator) -> TranslateFile:
    """Return a function that translates a file with a running server."""

    def translate_remotely(file: Path, _: Report) -> Outcome:
        return Outcome(*translator.translate_file(file.name, file.read_bytes()))

    return translate_remotely


@contextmanager
def local_files(
    checkpoint: Path,
    direction: tuple[str | None, str | None],
    search: tuple[int | None, float | None],
    **settings: Any,
) -> Iterator[TranslateFile]:
    """Yield a function that translates a file as a server would, without limits."""
    from app.loading import load_runtime
    from app.observe.metrics import Metrics
    from app.settings import Settings

    source, target = direction
    beam_size, length_penalty = search
    unlimited = 2**63
    runtime = load_runtime(
        Settings.parse(
            checkpoint=(checkpoint,),
            models=None,
            pin=(),
            languages=None,
            max_file_characters=unlimited,
            **settings,
        ),
        Metrics(),
    )
    with asyncio.Runner() as runner:
        runner.run(runtime.start())

        async def translate_here(file: Path, report: Report) -> Outcome:
            request = FileRequest(
                file.name, file.read_bytes(), source, target, beam_size, length_penalty
            )
            async with runtime.files.opened(request) as opened:
                done = await runtime.files.translate_file(opened, math.inf, report)
            summary = {
                "texts": len(opened.texts), "characters": opened.characters, "flags": done.flags,
            }  # fmt: skip
            return Outcome(done.data, translated_name(file.name, done.target), summary)

        try:
            yield lambda file, report: runner.run(translate_here(file, report))
        finally:
            runner.run(runtime.stop())
