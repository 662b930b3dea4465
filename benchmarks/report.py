"""Reports of benchmarks: a table on the terminal, JSON in a file, tables in docs/benchmarks.md.

python -m benchmarks.report docs/benchmarks.md results/*.json
"""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import click
from rich.console import Console
from rich.table import Table

from app import __version__
from model.engine.device import usable_cores

Cell: TypeAlias = str | int | float | None
"""None for an empty cell."""

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
CPUINFO = Path("/proc/cpuinfo")
MIN_WIDTH = 150
"""Width of a table if the output is not a terminal."""

_PACKAGES = ("torch", "numba", "numpy", "ctranslate2", "transformers")


def machine() -> dict[str, Cell]:
    """Return the processor, the number of available cores, and the memory in GB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": usable_cores(),
        "memory_gb": round(memory / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        text = CPUINFO.read_text(encoding="utf-8")
    except OSError:  # not Linux
        return platform.processor()
    names = re.findall(r"^model name\s*: (.+)$", text, re.MULTILINE)
    flags = set(text.split()) & {"avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8"}
    return ", ".join([names[0] if names else platform.processor(), *sorted(flags)])


def versions() -> dict[str, Cell]:
    """Return the versions of Python and of relevant installed packages."""
    found: dict[str, Cell] = {"python": platform.python_version(), "attend": __version__}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Report:
    """A table and the conditions of its measurement.

    name      the benchmark's module
    columns   heading → format specification of its numbers, such as `.1f`
    rows      heading → value
    """

    name: str
    title: str
    settings: Mapping[str, Cell]
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    machine: Mapping[str, Cell] = field(default_factory=machine)
    versions: Mapping[str, Cell] = field(default_factory=versions)

    @classmethod
    def read(cls, path: Path) -> "Report":
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """Write JSON, creating the folder if necessary."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    def formatted(self) -> list[list[str]]:
        return [
            [_formatted(row.get(heading), form) for heading, form in self.columns.items()]
            for row in self.rows
        ]

    def table(self) -> Table:
        table = Table(title=self.title, caption="\n".join(self.notes))
        for heading, form in self.columns.items():
            table.add_column(heading, justify="right" if form else "left")
        for row in self.formatted():
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """Return Markdown, with all conditions of the measurement."""
        rules = ["---:" if form else "---" for form in self.columns.values()]
        lines = [_row(list(self.columns)), _row(rules), *map(_row, self.formatted())]
        about = [_pairs(self.settings), _pairs(self.versions)]
        about.append(f"{_pairs(self.machine)}; {self.date}")
        parts = [f"### {self.title}", "\n".join(lines), *self.notes, "  \n".join(about)]
        return "\n\n".join(parts)


def _formatted(value: Cell, form: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else format(value, form)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _pairs(values: Mapping[str, Cell]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in values.items())


def publish(report: Report, path: Path | None) -> None:
    """Print the table, and write the file if one is given."""
    console = Console()
    console.width = max(console.width, MIN_WIDTH)
    console.print(report.table())
    if path:
        report.write(path)


def insert(page: str, reports: Sequence[Report]) -> str:
    """Insert tables between the marks of a page. Raises `ValueError` if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} … {END} in the page")
    tables = "\n\n".join(report.markdown() for report in reports)
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"


@click.command()
@click.argument("page", type=click.Path(path_type=Path, exists=True))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(page: Path, files: Sequence[Path]) -> None:
    """Replace the tables between the marks of PAGE by those of FILES."""
    text = page.read_text(encoding="utf-8")
    page.write_text(insert(text, [Report.read(file) for file in files]), encoding="utf-8")


if __name__ == "__main__":
    main()
