"""`attend translate`: translates its arguments, standard input line by line, or files."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import click
from click.core import ParameterSource

from app.cli import options
from app.cli.display.progress import TranslationProgress, count_lines
from app.cli.translating.lines import ByteSource, line_blocks
from app.cli.translating.remote import RemoteTranslator
from app.errors import UnknownLanguagesError
from app.languages.served import is_auto
from app.settings import env_name
from model.engine.protocol import PrecisionChoice

Record: TypeAlias = dict[str, Any]
"""The `--json` output for a line; at least `text`, `flags` and `detected`."""

OPTIONAL = ("flags", "detected")
"""Members that are printed only if they have a value."""

Direction: TypeAlias = tuple[str | None, str | None]
Search: TypeAlias = tuple[int | None, float | None]
"""Beam size and length penalty."""


@click.command(epilog='Example: attend translate --source fr --target en "Il fait beau."')
@click.argument("text", nargs=-1)
@options.checkpoint
@options.cache
@click.option("--url", help="Use a running server, such as http://localhost:8000, instead.")
@click.option(
    "--api-key", envvar=env_name("api_keys"), metavar="KEY",
    help="For --url, if the server requires one [default: the first of $ATTEND_API_KEYS].",
)  # fmt: skip
@click.option(
    "--file", "files", type=click.Path(path_type=Path, exists=True, dir_okay=False), multiple=True,
    help="Translate a file instead; may be repeated.",
)  # fmt: skip
@click.option(
    "--output", type=options.path_type,
    help="Output file, - for standard output, or a folder for several "
    "[default: report.docx → report.fr.docx].",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Let --file replace files that are there already.")
@options.source
@options.target
@options.beam_size
@options.length_penalty
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--flags", "list_flags", is_flag=True, help="List the lines with flags on stderr.")
@options.device
@options.precision
@options.threads
@click.pass_context
def translate(
    ctx: click.Context,
    *,
    text: tuple[str, ...],
    checkpoint: Path,
    cache: Path | None,
    url: str | None,
    api_key: str | None,
    files: tuple[Path, ...],
    output: Path | None,
    overwrite: bool,
    source: str | None,
    target: str | None,
    beam_size: int | None,
    length_penalty: float | None,
    as_json: bool,
    list_flags: bool,
    device: str,
    precision: PrecisionChoice,
    threads: int | None,
) -> None:
    """Translate TEXT, or UTF-8 lines from standard input to standard output, in order.

    Each line is printed as soon as it is done; empty lines stay empty. --source auto detects the
    language of each line, or of a file.

    Without --checkpoint, the languages select a model that `attend pull` has fetched, or else the
    shipped one. --source and --target default to the checkpoint's first direction (English to
    French for the shipped one).

    --json prints {"text", "score", "token_ids", "tokens"} per line, "flags" if there are any, and
    "detected" with --source auto (docs/api.md). With --url, token_ids and tokens are missing.

    If the output goes to a file, a terminal shows the progress. The last line on stderr counts the
    lines with flags; --flags lists them.

    --file accepts text, HTML, XML, Markdown, subtitles, tables, PO, JSON, XLIFF, EPUB and files of
    Office and OpenDocument, and preserves everything but the text; from a PDF, it writes plain text
    (docs/files.md). --json then prints one object per file.
    """
    for name, value in (("output", output), ("overwrite", overwrite)):
        if value and not files:
            raise click.UsageError(f"--{name} requires --file.")
    stdin = _input(text, files)
    detects = is_auto(source)
    direction: Direction = (source, target)
    search = (beam_size, length_penalty)
    with ExitStack() as stack:
        if url is None:
            languages = (None if detects else source, target)
            checkpoint = _checkpoint(ctx, checkpoint, cache, languages)
            if files:
                from app.cli.translating.translate_files import local_files
                from model.checkpoint.config import read_config

                config = read_config(checkpoint)
                local = local_files(
                    checkpoint,
                    direction if detects else options.choose_direction(config, *direction),
                    search,
                    device=device,
                    precision=precision,
                    threads=threads,
                )
                translate_file = stack.enter_context(local)
            else:
                records = _local_records(
                    stdin, checkpoint, direction, search,
                    device=device, precision=precision, threads=threads,
                )  # fmt: skip
        else:
            for name in ("checkpoint", "cache", "device", "precision", "threads"):
                if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                    raise click.UsageError(f"--url and --{name} exclude each other.")
            if files and search != (None, None):
                raise click.UsageError(
                    "With --url, the server's search settings apply to a --file."
                )
            requested = {"beam_size": beam_size, "length_penalty": length_penalty}
            # The environment may list a server's keys.
            key = api_key.partition(",")[0].strip() if api_key else None
            translator = RemoteTranslator(url, source, target, requested, key)
            stack.callback(translator.close)
            if files:
                from app.cli.translating.translate_files import remote_files

                translate_file = remote_files(translator)
            else:
                records = (
                    asdict(answer)
                    for block in line_blocks(stdin)
                    for answer in translator.translate_texts(block)
                )
        if files:
            from app.cli.translating.translate_files import translate_files

            translate_files(files, output, translate_file, as_json=as_json, overwrite=overwrite)
            return
        with TranslationProgress(count_lines(stdin), list_flags=list_flags) as progress:
            _write(records, progress, as_json)


def _checkpoint(ctx: click.Context, given: Path, cache: Path | None, languages: Direction) -> Path:
    """Return the folder of --checkpoint, else of a pulled model for the languages, if any."""
    # Reading checkpoints needs torch; using a server does not.
    from app.hub.import_cache import checkpoint_folder

    if ctx.get_parameter_source("checkpoint") is ParameterSource.DEFAULT:
        given = options.pulled_checkpoint(*languages) or given
    return checkpoint_folder(given, cache)


def _input(text: tuple[str, ...], files: tuple[Path, ...]) -> ByteSource:
    """Return the words of the command line as a line, else standard input."""
    if text:
        if files:
            raise click.UsageError("--file and TEXT exclude each other.")
        if len(text) == 1 and Path(text[0]).suffix and Path(text[0]).is_file():
            raise click.UsageError(f"{text[0]} is a file; --file {text[0]} translates it.")
        return io.BytesIO(" ".join(text).encode("utf-8", errors="surrogateescape"))
    if not files and sys.stdin.isatty():
        click.echo("attend: lines from the terminal are translated; Ctrl-D ends", err=True)
    return cast("ByteSource", sys.stdin.buffer)


def _local_records(
    stdin: ByteSource,
    checkpoint: Path,
    direction: Direction,
    search: Search,
    *,
    device: str,
    precision: PrecisionChoice,
    threads: int | None,
) -> Iterator[Record]:
    from app.cli.translating.detected_lines import DetectedLine, detecting_reader
    from app.translation.segments.reading import Reading
    from app.translation.segments.segmented_text import SegmentedText
    from model.checkpoint.reader import load_checkpoint
    from model.engine.device import pick_devices
    from model.translator import Translator, offline_engines

    loaded = load_checkpoint(checkpoint)

    @lru_cache
    def reading(chosen: tuple[str, str]) -> Reading:
        max_length = loaded.config.transformer.max_length
        searched = options.search_options(loaded, chosen[1], *search)
        return Reading(loaded.tokenizer, chosen, max_length, searched)

    source, target = direction
    read: Callable[[str], SegmentedText]
    if is_auto(source):
        try:
            read = detecting_reader(loaded.config, target, reading)
        except UnknownLanguagesError:
            raise options.not_translated(loaded.config, None, target) from None
    else:
        chosen = options.choose_direction(loaded.config, source, target)
        read = partial(SegmentedText, reading=reading(chosen))
    engines = offline_engines(loaded, precision, threads, pick_devices(device))
    translator = Translator(read, engines)
    lines = (line for block in line_blocks(stdin) for line in block or (None,))
    for line in translator.stream(lines):
        token_ids = [one for segment in line.segments for one in segment.best.ids]
        detected = line.detected if isinstance(line, DetectedLine) else None
        yield {
            "text": line.answer().after,
            "score": line.score(),
            "token_ids": token_ids,
            "tokens": [loaded.tokenizer.piece(token_id) for token_id in token_ids],
            "flags": line.flags,
            "detected": asdict(detected) if detected else None,
        }


def _write(records: Iterator[Record], progress: TranslationProgress, as_json: bool) -> None:
    output = sys.stdout.buffer
    for record in records:
        progress.on_line(record["flags"])
        if as_json:
            printed = {key: value for key, value in record.items() if value or key not in OPTIONAL}
            line = json.dumps(printed, ensure_ascii=False)
        else:
            # A model may produce a line feed byte, which would shift all following lines.
            line = record["text"].replace("\n", " ")
        output.write(line.encode("utf-8") + b"\n")
        output.flush()
