"""`attend translate`: standard input to standard output, a line each, or files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import click
from click.core import ParameterSource

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
"""What `--json` prints of a line; at least `text` and `flags`."""

TranslateBlocks: TypeAlias = Callable[[Iterator[list[str]]], Iterator[Record]]
"""Blocks as `line_blocks` gives them → a record for every line, in order."""


@click.command(
    epilog='Example: echo "Il fait beau." | attend translate --source fr --target en --json'
)
@checkpoint_option
@cache_option
@click.option("--url", help="Ask a running server, such as http://localhost:8000, instead.")
@click.option(
    "--api-key", envvar=env_name("api_keys"), metavar="KEY",
    help="For --url, if that server wants one [default: the first of $ATTEND_API_KEYS].",
)  # fmt: skip
@click.option(
    "--file", "files", type=click.Path(path_type=Path, exists=True, dir_okay=False), multiple=True,
    help="Translate a file instead; repeat the option for several.",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(path_type=Path),
    help="Where the file goes, or a folder for several [default: report.docx → report.fr.docx].",
)  # fmt: skip
@source_option
@target_option
@beam_size_option
@length_penalty_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
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
    source: str | None,
    target: str | None,
    beam_size: int | None,
    length_penalty: float | None,
    as_json: bool,
    device: str,
    precision: PrecisionChoice,
    threads: int | None,
) -> None:
    """Translate standard input, UTF-8, to standard output: a line each, in order.

    Lines come out as soon as they are done, and an empty line stays empty. Without --source and
    --target the checkpoint's first direction is taken (the shipped one's: English to French).

    --json prints {"text", "score", "token_ids", "tokens"} a line, and "flags" where there are any
    (docs/api.md). With --url there are no token_ids and tokens.

    --file takes .txt, .html, .xml, .md, .srt, .po, .json and .docx, and keeps what is not language
    as it is (docs/files.md); --json then prints an object a file.
    """
    if output and not files:
        raise click.UsageError("--output is for --file.")
    if url is None:
        # Reading checkpoints takes torch, which a client of a server can do without.
        from app.cli.import_cache import checkpoint_folder

        checkpoint = checkpoint_folder(checkpoint, cache)
        direction = (source, target)
        if files:
            _translate_files_here(
                files, output, checkpoint, direction, (beam_size, length_penalty),
                as_json=as_json, device=device, precision=precision, threads=threads,
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
            raise click.UsageError("--url translates a --file as its server is set to search.")
        translator = RemoteTranslator(url, source, target, search, _first(api_key))
        if files:
            from app.cli.translating.translate_files import remote_files, translate_files

            with closing(translator):
                translate_files(files, output, remote_files(translator), as_json=as_json)
            return
        opened = _remote(translator)
    with opened as translate_blocks:
        _write(translate_blocks(line_blocks(cast("ByteSource", sys.stdin.buffer))), as_json)


def _first(api_keys: str | None) -> str | None:
    """Of keys with commas between, as a server has them in its environment."""
    return api_keys.partition(",")[0].strip() if api_keys else None


def _translate_files_here(
    files: tuple[Path, ...],
    output: Path | None,
    checkpoint: Path,
    direction: tuple[str | None, str | None],
    search: tuple[int | None, float | None],
    *,
    as_json: bool,
    **settings: Any,
) -> None:
    from app.cli.translating.translate_files import local_files, translate_files
    from app.translation.language_paths import AUTO
    from model.checkpoint.config import read_config

    finds_out = (direction[0] or "").lower() == AUTO
    chosen = direction if finds_out else choose_direction(read_config(checkpoint), *direction)
    with local_files(checkpoint, chosen, search, **settings) as translate_file:
        translate_files(files, output, translate_file, as_json=as_json)


@contextmanager
def _local(
    checkpoint: Path,
    direction: tuple[str | None, str | None],
    search: tuple[int | None, float | None],
    device: str,
    engines: tuple[PrecisionChoice, int | None],
) -> Iterator[TranslateBlocks]:
    from app.cli.translating.line_translator import LineTranslator
    from app.translation.segmented_text import Reading
    from model.checkpoint.reader import load_checkpoint
    from model.engine.build import build_engines
    from model.engine.device import pick_device, usable_cores
    from model.translator import BATCH_TOKENS

    loaded = load_checkpoint(checkpoint)
    precision, n_threads = engines
    reading = Reading(
        loaded.tokenizer,
        choose_direction(loaded.config, *direction),
        loaded.config.transformer.max_length,
        search_options(loaded.config, *search),
    )
    built = build_engines(
        loaded, precision, n_threads or usable_cores(), BATCH_TOKENS, pick_device(device)
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


def _write(records: Iterator[Record], as_json: bool) -> None:
    output = sys.stdout.buffer
    for number, record in enumerate(records, start=1):
        if record["flags"]:
            click.echo(f"attend: line {number}: {', '.join(record['flags'])}", err=True)
        if as_json:
            shown = {key: value for key, value in record.items() if key != "flags" or value}
            line = json.dumps(shown, ensure_ascii=False)
        else:
            # A model may produce the byte of a line feed, which would shift all further lines.
            line = record["text"].replace("\n", " ")
        output.write(line.encode("utf-8") + b"\n")
        output.flush()
