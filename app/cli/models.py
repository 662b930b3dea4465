"""`attend models`: shows the models in a folder."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from app.cli import options
from app.cli.display.tables import print_table
from app.hub.firefox_registry import PUBLIC_REGISTRY, Registry, read_registry, server_of
from app.hub.import_cache import checkpoint_folder
from app.hub.origin import read_origin
from model.checkpoint.config import CARD_FILE, WEIGHTS_FILE
from model.checkpoint.parameters import n_parameters
from model.checkpoint.reader import load_checkpoint, read_tokenizer
from model.checkpoint.shelf_folder import ShelvedCheckpoint, find_checkpoints
from model.checkpoint.tensor_file import TensorFile
from model.engine.build import expected_info
from model.engine.memory import expected_bytes
from model.engine.protocol import PrecisionChoice
from model.errors import ModelError

_SHOWN_PAIRS = 4


@dataclass(frozen=True)
class ShelfRow:
    """A model; `fault` is why it does not load. Sizes are in bytes.

    update  a newer model of the registry, or one of a better architecture, if it was read
    """

    name: str
    folder: str
    directions: Sequence[tuple[str, str]] = ()
    parameters: int = 0
    disk_bytes: int = 0
    memory_bytes: int = 0
    precision: str = ""
    engine: str = ""
    licence: str | None = None
    repository: str | None = None
    revision: str | None = None
    update: str | None = None
    fault: str | None = None


@click.command(epilog="Example: attend models models; attend models --json | jq '.[].name'")
@click.argument("shelf", type=options.path_type, metavar="[DIR]", required=False)
@options.precision
@click.option("--verify", is_flag=True, help="Read all weights, not only their names and shapes.")
@click.option("--updates", is_flag=True, help="Look for newer models of Firefox's in the registry.")
@options.registry
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def models(  # noqa: PLR0917
    shelf: Path | None,
    precision: PrecisionChoice,
    verify: bool,
    updates: bool,
    registry: str | None,
    as_json: bool,
) -> None:
    """Show the models in DIR: languages, size, memory in service, licence, and whether each loads.

    DIR is by default $ATTEND_MODELS, else `models` in the user's data folder. The network is used
    with --updates only, by one request. Exits with code 1 if a model does not load.
    """
    pulled = options.shelf_folder()
    nothing_yet = shelf is None and not pulled.exists()
    shelf = shelf or pulled
    found, unusable = ([], []) if nothing_yet else find_checkpoints(shelf, checkpoint_folder)
    listed = _read_registry(registry or PUBLIC_REGISTRY) if updates else None
    rows = [_row(one, precision, listed, verify=verify) for one in found]
    rows += [ShelfRow(one.folder.name, str(one.folder), fault=one.reason) for one in unusable]
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False))
    elif rows:
        _print_table(rows, with_updates=updates)
    else:
        into = f" {shelf}" if shelf != pulled else ""
        click.echo(f"{shelf}: no models; `attend pull opus-mt-en-de{into}` fetches one")
    if any(row.fault for row in rows):
        raise SystemExit(1)


def _read_registry(registry: str) -> Registry:
    with server_of(registry) as server:
        return read_registry(server, registry)


def _row(
    found: ShelvedCheckpoint,
    precision: PrecisionChoice,
    registry: Registry | None,
    *,
    verify: bool,
) -> ShelfRow:
    config, origin = found.config, read_origin(found.folder)
    newer = registry.update_of(origin) if registry and origin else None
    info = expected_info(precision, 1, ("cpu",))
    return ShelfRow(
        name=config.name,
        folder=str(found.folder),
        directions=config.directions,
        parameters=n_parameters(config.transformer),
        disk_bytes=found.n_bytes,
        memory_bytes=expected_bytes(config.transformer, precision),
        precision=info.precision,
        engine=info.engine,
        licence=(origin and origin.licence) or _licence_of(found.folder),
        repository=origin.repository if origin else None,
        revision=origin.revision if origin else None,
        update=newer.name if newer else None,
        fault=_fault(found, verify=verify),
    )


def _fault(found: ShelvedCheckpoint, *, verify: bool) -> str | None:
    """Return why it does not load; without `verify`, weights are not read."""
    try:
        if verify:
            load_checkpoint(found.folder)
            return None
        read_tokenizer(found.folder, found.config)
        TensorFile(found.folder / WEIGHTS_FILE)
    except ModelError as error:
        return str(error)
    return None


def _licence_of(folder: Path) -> str | None:
    """Return the licence that the front matter of a card on the hub gives."""
    for name in ("README.md", CARD_FILE):
        try:
            text = (folder / name).read_text("utf-8", errors="replace")
        except OSError:
            continue
        if licence := re.search(r"\A---\n(?:.*\n)*?license:\s*([^\n]+)\n", text):
            return licence[1].strip()
    return None


def _print_table(rows: list[ShelfRow], *, with_updates: bool) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("Model", "Languages"):
        table.add_column(heading)
    for heading in ("Parameters", "Disk", "Memory"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Precision")
    table.add_column("Licence", overflow="fold")
    for heading in ("Loads", *(["Update"] if with_updates else [])):
        table.add_column(heading)
    for row in rows:
        pairs = ", ".join(" → ".join(pair) for pair in row.directions[:_SHOWN_PAIRS])
        more = len(row.directions) - _SHOWN_PAIRS
        sizes = row.disk_bytes, row.memory_bytes
        table.add_row(
            row.name,
            f"{pairs} and {more} more" if more > 0 else pairs,
            f"{row.parameters / 1e6:.1f} M" if row.parameters else "–",
            *(f"{size / 1e6:,.0f} MB" if size else "–" for size in sizes),
            row.precision or "–",
            row.licence or "not stated",
            "yes" if row.fault is None else f"no: {row.fault}",
            *([row.update or "–"] if with_updates else []),
        )
    print_table(table)
