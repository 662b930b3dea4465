"""The tables of stored glossaries, and how those of an older attend are converted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.accounts.schema_version import GLOSSARIES_VERSION, check_version, note_version

_TABLES = (
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
_FROM_VERSION_1 = (
    "DROP INDEX IF EXISTS glossaries_of_account",
    "ALTER TABLE glossaries RENAME TO monolingual",
    *_TABLES,
    "INSERT INTO glossaries SELECT id, account, name, created FROM monolingual",
    """
    INSERT INTO dictionaries
    SELECT id, source, target, n_entries, length(CAST(entries AS BLOB)), entries FROM monolingual
    ORDER BY created, id
    """,
    "DROP TABLE monolingual",
)


def prepare_tables(database: sqlite3.Connection, file: Path | None) -> None:
    """Create the tables, or convert them, in one transaction: several servers may start at once.

    Raises `SettingsError` if a newer attend wrote the file, and `sqlite3.Error`.
    """
    if check_version(database, file, GLOSSARIES_VERSION) == GLOSSARIES_VERSION:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if check_version(database, file, GLOSSARIES_VERSION) < GLOSSARIES_VERSION:
            for statement in _FROM_VERSION_1 if _has_tables(database) else _TABLES:
                database.execute(statement)
            note_version(database, GLOSSARIES_VERSION)
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _has_tables(database: sqlite3.Connection) -> bool:
    found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'glossaries'").fetchone()
    return found is not None
