"""Stored glossaries, separate for each account: in memory or in an SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from app.accounts.schema_version import check_version
from app.errors import (
    QuotaExceededError,
    SettingsError,
    StorageFullError,
    StorageUnavailableError,
    UnknownGlossaryError,
)

FILE_NAME = "glossaries.sqlite"

MAX_GLOSSARIES = 1000
"""Per account."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL,
    target TEXT NOT NULL, created TEXT NOT NULL, n_entries INTEGER NOT NULL, entries TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS glossaries_of_account ON glossaries (account, created, id);
"""
_INSERT = """
INSERT INTO glossaries SELECT ?, ?, ?, ?, ?, ?, ?, ?
WHERE (SELECT count(*) FROM glossaries WHERE account = ?) < ?
"""
_SELECT_ALL = """
SELECT id, name, source, target, created, n_entries FROM glossaries
WHERE account = ? ORDER BY created, id
"""
_SELECT = """
SELECT id, name, source, target, created, n_entries FROM glossaries WHERE id = ? AND account = ?
"""
_SELECT_ENTRIES = "SELECT entries FROM glossaries WHERE id = ? AND account = ?"
_DELETE = "DELETE FROM glossaries WHERE id = ? AND account = ?"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StoredGlossary:
    """A glossary without its entries; `created` in UTC."""

    id: str
    name: str
    source: str
    target: str
    created: datetime
    n_entries: int


class GlossaryStore:
    """A store of glossaries. Methods are thread-safe and block on the disk.

    All but `open` and `close` raise `StorageFullError` and `StorageUnavailableError`, with a line
    in the log that says what SQLite said.

    folder  contains the file, which several servers may share; None: in memory
    clock   the time, in UTC
    """

    def __init__(
        self,
        folder: Path | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._file = folder / FILE_NAME if folder else None
        self._clock = clock
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the store. Raises `SettingsError` if the file cannot be opened."""
        try:
            if self._file:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(
                self._file or ":memory:", check_same_thread=False, isolation_level=None
            )
            try:
                check_version(database, self._file)
                database.executescript(_SCHEMA)
            except BaseException:
                database.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise SettingsError(f"'data': {self._file} cannot be used: {error}") from None
        self._database = database

    def close(self) -> None:
        """Close the store, losing glossaries in memory."""
        with self._lock:
            if self._database:
                self._database.close()
            self._database = None

    def add(
        self, account: str, name: str, languages: tuple[str, str], entries: Mapping[str, str]
    ) -> StoredGlossary:
        """Store a glossary for a language pair. Raises `QuotaExceededError`."""
        added = StoredGlossary(str(uuid.uuid4()), name, *languages, self._clock(), len(entries))
        row = (added.id, account, name, *languages, added.created.isoformat(), len(entries),
               json.dumps(dict(entries)))  # fmt: skip
        with self._lock:
            n_inserted = self._run(_INSERT, *row, account, MAX_GLOSSARIES).rowcount
        if not n_inserted:
            raise QuotaExceededError(f"there are {MAX_GLOSSARIES:,} glossaries already")
        return added

    def all_of(self, account: str) -> list[StoredGlossary]:
        """Return the glossaries of an account, oldest first."""
        with self._lock:
            rows = self._run(_SELECT_ALL, account).fetchall()
        return [_glossary(row) for row in rows]

    def get(self, glossary_id: str, account: str) -> StoredGlossary:
        """Return a glossary of an account. Raises `UnknownGlossaryError`."""
        return _glossary(self._one(_SELECT, glossary_id, account))

    def entries(self, glossary_id: str, account: str) -> dict[str, str]:
        """Return its entries, in their original order. Raises `UnknownGlossaryError`."""
        entries: dict[str, str] = json.loads(self._one(_SELECT_ENTRIES, glossary_id, account)[0])
        return entries

    def remove(self, glossary_id: str, account: str) -> None:
        """Delete a glossary. Raises `UnknownGlossaryError`."""
        self._one(_SELECT, glossary_id, account)
        with self._lock:
            self._run(_DELETE, glossary_id, account)

    def _one(self, select: str, glossary_id: str, account: str) -> tuple[str, ...]:
        with self._lock:
            row: tuple[str, ...] | None = self._run(select, glossary_id, account).fetchone()
        if row is None:
            raise UnknownGlossaryError
        return row

    def _run(self, statement: str, *values: str | int) -> sqlite3.Cursor:
        if self._database is None:
            raise RuntimeError("the store is not open")
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            _log.error("glossaries out of reach", reason=str(error))
            is_full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            raise (StorageFullError if is_full else StorageUnavailableError) from error


def _glossary(row: tuple[str, ...]) -> StoredGlossary:
    glossary_id, name, source, target, created, n_entries = row
    return StoredGlossary(
        glossary_id, name, source, target, datetime.fromisoformat(created), int(n_entries)
    )
