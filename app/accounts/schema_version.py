"""Which version of attend a database in the folder of --data was written for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.errors import SettingsError

USAGE_VERSION = 1
"""Schema of `usage.sqlite`; the first versions of attend wrote 0, which is the same."""

GLOSSARIES_VERSION = 2
"""Schema of `glossaries.sqlite`; up to 1, a glossary had one language pair."""


def check_version(database: sqlite3.Connection, file: Path | None, version: int) -> int:
    """Return the version of a database that may be older than `version`.

    Raises `SettingsError` if a newer attend wrote it.
    """
    found: int = database.execute("PRAGMA user_version").fetchone()[0]
    if found > version:
        raise SettingsError(
            f"'data': {file} has schema version {found} of a newer attend; this one reads {version}"
        )
    return found


def note_version(database: sqlite3.Connection, version: int) -> None:
    """Write the version."""
    database.execute(f"PRAGMA user_version = {version}")
