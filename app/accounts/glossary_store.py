"""Stored glossaries, separate for each account: in memory or in an SQLite file."""

import json
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import structlog

from app.accounts.database import GLOSSARIES, open_database
from app.errors import (
    QuotaExceededError,
    StorageFullError,
    StorageUnavailableError,
    UnknownDictionaryError,
    UnknownGlossaryError,
)

FILE_NAME = "glossaries.sqlite"

MAX_GLOSSARIES = 1000
"""Per account."""

MAX_BYTES = 100_000_000
"""Bytes of all entries of an account."""

Pair: TypeAlias = tuple[str, str]
"""Source and target language."""

Entries: TypeAlias = Mapping[str, str]
"""Source terms and their translations, in order."""

_INSERT = """
INSERT INTO glossaries SELECT ?, ?, ?, ?
WHERE (SELECT count(*) FROM glossaries WHERE account = ?) < ?
"""
_SELECT = """
SELECT g.id, g.name, g.created, d.source, d.target, d.n_entries
FROM glossaries g LEFT JOIN dictionaries d ON d.glossary = g.id
"""
_SELECT_ALL = _SELECT + "WHERE g.account = ? ORDER BY g.created, g.id, d.rowid"
_SELECT_ONE = _SELECT + "WHERE g.id = ? AND g.account = ? ORDER BY d.rowid"
_SELECT_ENTRIES = """
SELECT entries FROM dictionaries WHERE glossary = ? AND source = ? AND target = ?
"""
_SELECT_BYTES = """
SELECT coalesce(sum(n_bytes), 0) FROM dictionaries
WHERE glossary IN (SELECT id FROM glossaries WHERE account = ?)
"""
_PUT_ENTRIES = """
INSERT INTO dictionaries (glossary, source, target, n_entries, n_bytes, entries)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (glossary, source, target) DO UPDATE
SET n_entries = excluded.n_entries, n_bytes = excluded.n_bytes, entries = excluded.entries
"""
_DELETE_DICTIONARY = "DELETE FROM dictionaries WHERE glossary = ? AND source = ? AND target = ?"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StoredDictionary:
    """A glossary's dictionary of one language pair, without its entries."""

    source: str
    target: str
    n_entries: int

    @property
    def pair(self) -> Pair:
        return self.source, self.target


@dataclass(frozen=True, slots=True)
class StoredGlossary:
    """A glossary with its dictionaries in the order of their creation; `created` in UTC."""

    id: str
    name: str
    created: datetime
    dictionaries: tuple[StoredDictionary, ...]

    def dictionary(self, pair: Pair) -> StoredDictionary:
        """Return the dictionary of a language pair. Raises `UnknownDictionaryError`."""
        for one in self.dictionaries:
            if one.pair == pair:
                return one
        raise UnknownDictionaryError


class GlossaryStore:
    """A store of glossaries. Methods are thread-safe, atomic, and block on the disk.

    All but `open` and `close` raise `StorageFullError` and `StorageUnavailableError`, and log
    SQLite's reason.

    folder  contains the file, which several servers may share; None: in memory
    clock   the time, in UTC
    """

    def __init__(
        self, folder: Path | None = None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._file = folder / FILE_NAME if folder else None
        self._clock = clock
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the store. Raises `SettingsError` if the file cannot be opened."""
        self._database = open_database(self._file, GLOSSARIES)

    def close(self) -> None:
        """Close the store, losing glossaries in memory."""
        with self._lock:
            if self._database:
                self._database.close()
            self._database = None

    def add(self, account: str, name: str, dictionaries: Mapping[Pair, Entries]) -> StoredGlossary:
        """Store a glossary. Raises `QuotaExceededError`."""
        glossary_id, created = str(uuid.uuid4()), self._clock().isoformat()
        with self._changing() as database:
            row = (glossary_id, account, name, created)
            if not database.execute(_INSERT, (*row, account, MAX_GLOSSARIES)).rowcount:
                raise QuotaExceededError(f"there are {MAX_GLOSSARIES:,} glossaries already")
            for pair, entries in dictionaries.items():
                _put(database, glossary_id, pair, entries)
            _check_bytes(database, account)
            return _get(database, glossary_id, account)

    def all_of(self, account: str) -> list[StoredGlossary]:
        """Return the glossaries of an account, oldest first."""
        with self._reading() as database:
            return _glossaries(database.execute(_SELECT_ALL, (account,)).fetchall())

    def get(self, glossary_id: str, account: str) -> StoredGlossary:
        """Return a glossary of an account. Raises `UnknownGlossaryError`."""
        with self._reading() as database:
            return _get(database, glossary_id, account)

    def entries(self, glossary_id: str, account: str, pair: Pair) -> dict[str, str]:
        """Return a dictionary's entries, in their original order.

        Raises `UnknownGlossaryError`, `UnknownDictionaryError`.
        """
        with self._reading() as database:
            _get(database, glossary_id, account).dictionary(pair)
            return _entries(database, glossary_id, pair)

    def update(
        self,
        glossary_id: str,
        account: str,
        name: str | None = None,
        dictionaries: Mapping[Pair, Entries] | None = None,
    ) -> StoredGlossary:
        """Rename a glossary and add entries; those of the same source terms are replaced.

        Raises `UnknownGlossaryError`, `QuotaExceededError`.
        """
        with self._changing() as database:
            _get(database, glossary_id, account)
            if name is not None:
                database.execute("UPDATE glossaries SET name = ? WHERE id = ?", (name, glossary_id))
            for pair, entries in (dictionaries or {}).items():
                merged = _entries(database, glossary_id, pair) | dict(entries)
                _put(database, glossary_id, pair, merged)
            _check_bytes(database, account)
            return _get(database, glossary_id, account)

    def replace(
        self, glossary_id: str, account: str, pair: Pair, entries: Entries
    ) -> StoredDictionary:
        """Replace or create a dictionary. Raises as `update`."""
        with self._changing() as database:
            _get(database, glossary_id, account)
            _put(database, glossary_id, pair, entries)
            _check_bytes(database, account)
            return _get(database, glossary_id, account).dictionary(pair)

    def remove(self, glossary_id: str, account: str) -> None:
        """Delete a glossary. Raises `UnknownGlossaryError`."""
        with self._changing() as database:
            _get(database, glossary_id, account)
            database.execute("DELETE FROM dictionaries WHERE glossary = ?", (glossary_id,))
            database.execute("DELETE FROM glossaries WHERE id = ?", (glossary_id,))

    def remove_dictionary(self, glossary_id: str, account: str, pair: Pair) -> None:
        """Delete a dictionary. Raises `UnknownGlossaryError`, `UnknownDictionaryError`."""
        with self._changing() as database:
            _get(database, glossary_id, account).dictionary(pair)
            database.execute(_DELETE_DICTIONARY, (glossary_id, *pair))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._database is None:
                raise RuntimeError("the store is not open")
            try:
                yield self._database
            except sqlite3.Error as error:
                _log.error("glossaries out of reach", reason=str(error))
                is_full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
                raise (StorageFullError if is_full else StorageUnavailableError) from error

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; what it changed is undone if the body raises."""
        with self._reading() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:  # a full disk may have ended it
                    database.execute("ROLLBACK")
                raise


def _get(database: sqlite3.Connection, glossary_id: str, account: str) -> StoredGlossary:
    found = _glossaries(database.execute(_SELECT_ONE, (glossary_id, account)).fetchall())
    if not found:
        raise UnknownGlossaryError
    return found[0]


def _glossaries(rows: list[tuple[Any, ...]]) -> list[StoredGlossary]:
    """Group the rows of dictionaries by their glossary; one without any has a row of nulls."""
    return [
        StoredGlossary(
            glossary_id,
            name,
            datetime.fromisoformat(created),
            tuple(StoredDictionary(*row[3:]) for row in group if row[3] is not None),
        )
        for (glossary_id, name, created), group in groupby(rows, key=lambda row: row[:3])
    ]


def _entries(database: sqlite3.Connection, glossary_id: str, pair: Pair) -> dict[str, str]:
    row = database.execute(_SELECT_ENTRIES, (glossary_id, *pair)).fetchone()
    entries: dict[str, str] = json.loads(row[0]) if row else {}
    return entries


def _put(database: sqlite3.Connection, glossary_id: str, pair: Pair, entries: Entries) -> None:
    text = json.dumps(dict(entries))  # ASCII
    database.execute(_PUT_ENTRIES, (glossary_id, *pair, len(entries), len(text), text))


def _check_bytes(database: sqlite3.Connection, account: str) -> None:
    if database.execute(_SELECT_BYTES, (account,)).fetchone()[0] > MAX_BYTES:
        raise QuotaExceededError(f"all glossaries together may have {MAX_BYTES:,} bytes of entries")
