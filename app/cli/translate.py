"""`attend translate`: translates standard input line by line, or files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import click
from click.core import ParameterSource

from app.cli.display.translation_progress import TranslationProgress, count_lines
from app.cli.options import (
    beam_size_option,
    cache_option,
    checkpoint_option,
    choose_direction,
    device_option,
    length_penalty_option,
    precision_option,
    search_options,
    source_option,
    target_option,
    threads_option,
)
from app.cli.translating.lines import ByteSource, line_blocks
from app.cli.translating.remote import RemoteTranslator
from app.settings import env_name
from model.engine.protocol import PrecisionChoice

Record: TypeAlias = dict[str, Any]
"""The `--json` output for a line; at least `text` and `flags`."""

TranslateBlocks: TypeAlias = Callable[[Iterator[list[str]]], Iterator[Record]]
"""Blocks from `line_blocks` → one record per line, in order."""


@click.command(
    epilog='Example: echo "Il fait beau." | attend translate --source fr --target en --json'
)
@checkpoint_option
@cache_option
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
    "--output", type=click.Path(path_type=Path),
    help="Output file, or a folder for several [default: report.docx → report.fr.docx].",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Let --file replace files that are there already.")
@source_option
@target_option
@beam_size_option
@length_penalty_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--flags", "list_flags", is_flag=True, help="List the lines with flags on stderr.")
@device_option
@precision_option
@threads_option
@click.pass_context
def translate(
    ctx: click.Context,
    *,
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
    """Translate UTF-8 lines from standard input to standard output, in order.

    Each line is printed as soon as it is done; empty lines stay empty. --source and --target
    default to the checkpoint's first direction (English to French for the shipped one).

    --json prints {"text", "score", "token_ids", "tokens"} per line, and "flags" if there are any
    (docs/api.md). With --url, token_ids and tokens are missing.

    If the output goes to a file, a terminal shows the progress. The last line on stderr counts the
    lines with flags; --flags lists them.

    --file accepts .txt, .html, .xml, .md, .srt, .po, .json and .docx, and preserves everything
    but the text (docs/files.md); --json then prints one object per file.
    """
    if output and not files:
        raise click.UsageError("--output requires --file.")
    if overwrite and not files:
        raise click.UsageError("--overwrite requires --file.")
    if url is None:
        # Reading checkpoints needs torch; using a server does not.
        from app.cli.import_cache import checkpoint_folder

        checkpoint = checkpoint_folder(checkpoint, cache)
        direction = (source, target)
        if files:
            _translate_files_here(
                files, output, checkpoint, direction, (beam_size, length_penalty),
                as_json=as_json, overwrite=overwrite,
                device=device, precision=precision, threads=threads,
            )  # fmt: skip
            return
        opened: AbstractContextManager[TranslateBlocks] = _local(
            checkpoint, direction, (beam_size, length_penalty), device, (precision, threads)
        )
    else:
        for name in ("checkpoint", "cache", "device", "precision", "threads"):
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--url and --{name} exclude each other.")
        search = {"beam_size": beam_size, "length_penalty": length_penalty}
        if files and any(value is not None for value in search.values()):
            raise click.UsageError("With --url, the server's search settings apply to a --file.")
        translator = RemoteTranslator(url, source, target, search, _first(api_key))
        if files:
            from app.cli.translating.translate_files import remote_files, translate_files

            with closing(translator):
                translate_files(
                    files, output, remote_files(translator), as_json=as_json, overwrite=overwrite
                )
            return
        opened = _remote(translator)
    stdin = cast("ByteSource", sys.stdin.buffer)
    with opened as translate_blocks, _progress(stdin, list_flags=list_flags) as progress:
        _write(translate_blocks(line_blocks(stdin)), progress, as_json)


def _progress(stdin: ByteSource, *, list_flags: bool) -> TranslationProgress:
    try:
        lines = count_lines(stdin.fileno())
    except OSError:
        lines = None
    return TranslationProgress(lines, list_flags=list_flags)


def _first(api_keys: str | None) -> str | None:
    """Return the first of comma-separated keys, as in a server's environment."""
    return api_keys.partition(",")[0].strip() if api_keys else None


def _translate_files_here(
    files: tuple[Path, ...],
    output: Path | None,
    checkpoint: Path,
    direction: tuple[str | None, str | None],
    search: tuple[int | None, float | None],
    *,
    as_json: bool,
    overwrite: bool,
    **settings: Any,
) -> None:
    from app.cli.translating.translate_files import local_files, translate_files
    from app.translation.language_paths import AUTO
    from model.checkpoint.config import read_config

    finds_out = (direction[0] or "").lower() == AUTO
    chosen = direction if finds_out else choose_direction(read_config(checkpoint), *direction)
    with local_files(checkpoint, chosen, search, **settings) as translate_file:
        translate_files(files, output, translate_file, as_json=as_json, overwrite=overwrite)


@contextmanager
def _local(
    checkpoint: Path,
    direction: tuple[str | None, str | None],
    search: tuple[int | None, float | None],
    device: str,
    engines: tuple[PrecisionChoice, int | None],
) -> Iterator[TranslateBlocks]:
    from app.cli.translating.line_translator import LineTranslator
    from app.translation.segments.reading import Reading
    from model.checkpoint.reader import load_checkpoint
    from model.engine.build import build_engines
    from model.engine.device import pick_devices, usable_cores
    from model.translator import BATCH_TOKENS

    loaded = load_checkpoint(checkpoint)
    precision, n_threads = engines
    chosen = choose_direction(loaded.config, *direction)
    reading = Reading(
        loaded.tokenizer,
        chosen,
        loaded.config.transformer.max_length,
        search_options(loaded.config, *search, loaded.tokenizer.first_id(chosen[1])),
    )
    built = build_engines(
        loaded, precision, n_threads or usable_cores(), BATCH_TOKENS, pick_devices(device)
    )
    translator = LineTranslator(reading, built)

    def translate_blocks(blocks: Iterator[list[str]]) -> Iterator[Record]:
        lines = (line for block in blocks for line in block or (None,))
        for line in translator.translate(lines):
            token_ids = [one for segment in line.segments for one in segment.best.ids]
            yield {
                "text": line.answer().after,
                "score": line.score(),
                "token_ids": token_ids,
                "tokens": [loaded.tokenizer.piece(token_id) for token_id in token_ids],
                "flags": line.flags,
            }

    yield translate_blocks


@contextmanager
def _remote(translator: RemoteTranslator) -> Iterator[TranslateBlocks]:
    def translate_blocks(blocks: Iterator[list[str]]) -> Iterator[Record]:
        for block in blocks:
            for answer in translator.translate(block):
                yield {"text": answer.text, "score": answer.score, "flags": answer.flags}

    try:
        yield translate_blocks
    finally:
        translator.close()


def _write(records: Iterator[Record], progress: TranslationProgress, as_json: bool) -> None:
    output = sys.stdout.buffer
    for record in records:
        progress.on_line(record["flags"])
        if as_json:
            shown = {key: value for key, value in record.items() if key != "flags" or value}
            line = json.dumps(shown, ensure_ascii=False)
        else:
            # A model may produce a line feed byte, which would shift all following lines.
            line = record["text"].replace("\n", " ")
        output.write(line.encode("utf-8") + b"\n")
        output.flush()
