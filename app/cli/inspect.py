"""`attend inspect`: shows an architecture as a table with the paper's names."""

import json
from dataclasses import asdict
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from app.cli import options
from app.cli.display.tables import print_table
from app.hub.import_cache import checkpoint_folder
from app.languages.served import described
from app.shipped import SHIPPED_CHECKPOINT
from model.checkpoint.config import AnyPair
from model.checkpoint.parameters import PAPER_PARAMETERS, Part, describe, n_parameters
from model.checkpoint.reader import load_checkpoint
from model.transformer.config import PRESETS, TransformerConfig


@click.command(epilog="Example: attend inspect checkpoints/en-fr; attend inspect --preset base")
@click.argument("folder", type=options.path_type, metavar="[DIR]", required=False)
@click.option("--preset", type=click.Choice(list(PRESETS)), help="Show a preset instead of DIR.")
@options.cache
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(folder: Path | None, preset: str | None, cache: Path | None, as_json: bool) -> None:
    """Show the architecture of the checkpoint in DIR: the paper's names, shapes, parameter counts.

    DIR is by default the shipped checkpoint. It is read as a whole, so that damage is detected.
    """
    facts: dict[str, Any]
    if preset is not None:
        if folder is not None:
            raise click.UsageError("DIR and --preset exclude each other.")
        facts = {"preset": preset}
        config, paper = PRESETS[preset], PAPER_PARAMETERS.get(preset)
    else:
        loaded = load_checkpoint(checkpoint_folder(folder or SHIPPED_CHECKPOINT, cache))
        directions = (
            [described(loaded.config.directions)]
            if isinstance(loaded.config.directions, AnyPair)
            else [" → ".join(direction) for direction in loaded.config.directions]
        )
        facts = {"name": loaded.config.name, "directions": directions, "sha256": loaded.digest}
        config, paper = loaded.config.transformer, None
    if as_json:
        _print_json(facts, config, paper)
    else:
        _print_table(facts, config, paper)


def _print_json(facts: dict[str, Any], config: TransformerConfig, paper: float | None) -> None:
    document = {
        **facts,
        "config": config.model_dump(),
        "parts": [asdict(part) for part in describe(config)],
        "n_parameters": n_parameters(config),
        "n_parameters_in_paper": paper,
    }
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _print_table(facts: dict[str, Any], config: TransformerConfig, paper: float | None) -> None:
    for name, value in facts.items():
        click.echo(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
    print_table(architecture_table(config))
    beside = f"; {paper / 1e6:.0f} M in the paper's table 3" if paper else ""
    total = n_parameters(config)
    click.echo(f"{total:,} parameters ({total / 1e6:.1f} M{beside}), shared ones counted once")


def architecture_table(config: TransformerConfig) -> Table:
    """Return the parts of `describe`, a row for each learnt matrix; it fits 80 columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Component")
    for heading in ("Learnt", "Shape"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Parameters", justify="right", no_wrap=True)
    for block, parts in groupby(describe(config), key=lambda part: part.block):
        table.add_section()
        table.add_row(block, style="bold")
        for component, tensors in groupby(parts, key=lambda part: part.component):
            rows = list(tensors)
            # Notes go below the name, since the table is narrow.
            notes = [part.note for part in rows if part.note]
            names = [f" {component}", *(f"   {note}" for note in notes)]
            for name, part in zip_longest(names, rows):
                table.add_row(name, *_cells(part))
    return table


def _cells(part: Part | None) -> tuple[str, ...]:
    """Return names, shapes and the number of parameters."""
    if part is None:
        return ()
    times = f" × {part.copies}" if part.copies > 1 and part.n_parameters else ""
    return (
        ", ".join(part.tensors),
        ", ".join("×".join(map(str, shape)) for shape in part.tensors.values()),
        f"{part.n_parameters:,}{times}" if part.n_parameters else "–",
    )
