"""The SQLite files in the folder of --data: their tables and versions.

A file of an older attend is converted; one of a newer attend is refused.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from app.errors import SettingsError
from model.errors import reason

_USAGE = (
    """
    CREATE TABLE IF NOT EXISTS usage (
        account TEXT, month TEXT, characters INTEGER NOT NULL, PRIMARY KEY (account, month)
    ) WITHOUT ROWID
    """,
)
_GLOSSARIES = (
    """
    CREATE TABLE glossaries (
        id TEXT PRIMARY KEY, account TEXT NOT NULL, name TEXT NOT NULL, created TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX glossaries_by_account ON glossaries (account, created, id)",
    """
    CREATE TABLE dictionaries (
        glossary TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
        n_entries INTEGER NOT NULL, n_bytes INTEGER NOT NULL, entries TEXT NOT NULL,
        UNIQUE (glossary, source, target)
    )
    """,
)
_GLOSSARIES_FROM_VERSION_1 = (
    "DROP INDEX IF EXISTS glossaries_of_account",
    "ALTER TABLE glossaries RENAME TO monolingual",
    *_GLOSSARIES,
    "INSERT INTO glossaries SELECT id, account, name, created FROM monolingual",
    """
    INSERT INTO dictionaries
    SELECT id, source, target, n_entries, length(CAST(entries AS BLOB)), entries FROM monolingual
    ORDER BY created, id
    """,
    "DROP TABLE monolingual",
)


class Schema(NamedTuple):
    """Statements that create the tables of a version, or convert those of an older one."""

    version: int
    create: Sequence[str]
    convert: Sequence[str]


USAGE = Schema(1, _USAGE, _USAGE)
"""The first versions of attend wrote 0, which is the same."""

GLOSSARIES = Schema(2, _GLOSSARIES, _GLOSSARIES_FROM_VERSION_1)
"""Up to version 1, a glossary had one language pair."""


PRIVATE = 0o600
"""Glossaries and usage are read by the server's user only."""


@contextmanager
def startup_errors(file: Path | None) -> Iterator[None]:
    """Raise `SettingsError` if the body cannot use the file."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(f"'data': {file} cannot be used: {reason(error)}") from None


def open_database(file: Path | None, schema: Schema) -> sqlite3.Connection:
    """Open a file, or a database in memory, with its tables.

    Raises `SettingsError` if the file cannot be used or is of a newer attend.
    """
    with startup_errors(file):
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(PRIVATE)  # SQLite gives its other files the same mode
            with suppress(PermissionError):  # of another user, who shares it
                file.chmod(PRIVATE)
        database = sqlite3.connect(
            file or ":memory:", check_same_thread=False, isolation_level=None
        )
        try:
            _prepare(database, file, schema)
        except BaseException:
            database.close()
            raise
        return database


def _prepare(database: sqlite3.Connection, file: Path | None, schema: Schema) -> None:
    """Create or convert the tables in one transaction: several servers may start at once."""
    if _version(database, file, schema) == schema.version:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if _version(database, file, schema) < schema.version:
            has_tables = database.execute("SELECT 1 FROM sqlite_master").fetchone()
            for statement in schema.convert if has_tables else schema.create:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {schema.version}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _version(database: sqlite3.Connection, file: Path | None, schema: Schema) -> int:
    found: int = database.execute("PRAGMA user_version").fetchone()[0]
    if found > schema.version:
        raise SettingsError(
            f"'data': {file} has schema version {found} of a newer attend; "
            f"this one reads {schema.version}"
        )
    return found
