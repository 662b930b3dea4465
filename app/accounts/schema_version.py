"""Which version of attend a database in the folder of --data was written for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.errors import SettingsError

SCHEMA_VERSION = 1
"""Of both databases; the first versions of attend wrote 0, which is the same."""


def check_version(database: sqlite3.Connection, file: Path | None) -> None:
    """Note the version in a database of an older one.

    Raises `SettingsError` where a newer attend wrote it, and nothing is changed then.
    """
    [found] = database.execute("PRAGMA user_version").fetchone()
    if found > SCHEMA_VERSION:
        raise SettingsError(
            f"'data': {file} has schema version {found} of a newer attend; "
            f"this one reads {SCHEMA_VERSION}"
        )
    if found < SCHEMA_VERSION:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
