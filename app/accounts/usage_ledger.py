"""Translated characters per account and calendar month (UTC), and their quota."""

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import structlog

from app.accounts.database import USAGE, open_database, startup_errors
from app.errors import QuotaExceededError

SAVE_INTERVAL = 5.0
"""Seconds between saves, the most that a crash loses."""

FILE_NAME = "usage.sqlite"

_Row: TypeAlias = tuple[str, str]
"""Account and month."""

_log = structlog.get_logger()


class UsageLedger:
    """Counts in memory and, with a folder, in an SQLite file that several servers may share.

    limit  characters per account and month; None: unlimited
    clock  seconds since the epoch
    """

    def __init__(
        self,
        limit: int | None = None,
        folder: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.limit = limit
        self._file = folder / FILE_NAME if folder else None
        self._clock = clock
        self._counts = Counter[_Row]()
        self._unsaved = Counter[_Row]()
        self._lock = threading.Lock()

    def used(self, account: str) -> int:
        return self._counts[self._row(account)]

    def take(self, account: str, n_characters: int) -> Callable[[], None]:
        """Count characters; the result undoes it. Raises `QuotaExceededError`."""
        row = self._row(account)
        if self.limit is not None and self._counts[row] + n_characters > self.limit:
            raise QuotaExceededError(
                f"{self._counts[row]:,} of the {self.limit:,} characters of this month are used, "
                f"and the request has {n_characters:,}"
            )
        self._add(row, n_characters)
        return lambda: self._add(row, -n_characters)

    @contextmanager
    def charge(self, account: str, n_characters: int) -> Iterator[None]:
        """Count characters, unless the body raises. Raises `QuotaExceededError`."""
        take_back = self.take(account, n_characters)
        try:
            yield
        except BaseException:
            take_back()
            raise

    def open(self) -> None:
        """Read this month's counts. Raises `SettingsError` if the file cannot be opened."""
        if self._file is None:
            return
        select = "SELECT account, month, characters FROM usage WHERE month = ?"
        with startup_errors(self._file), closing(open_database(self._file, USAGE)) as database:
            for account, month, characters in database.execute(select, (self._month(),)):
                self._counts[account, month] = characters

    def save(self) -> None:
        """Add the counts since the last save to the file. Blocks.

        A failure is logged, and the next save includes the counts.
        """
        if self._file is None:
            return
        with self._lock:
            unsaved, self._unsaved = self._unsaved, Counter()
        try:
            totals = _add_to(self._file, unsaved) if unsaved else {}
        except sqlite3.Error as error:
            _log.error("usage not saved", reason=str(error))
            with self._lock:
                self._unsaved.update(unsaved)
            return
        with self._lock:
            for row, total in totals.items():
                self._counts[row] = total + self._unsaved[row]

    async def save_regularly(self) -> None:
        while True:
            await asyncio.sleep(SAVE_INTERVAL)
            await asyncio.to_thread(self.save)

    def _add(self, row: _Row, n_characters: int) -> None:
        with self._lock:
            self._counts[row] += n_characters
            self._unsaved[row] += n_characters

    def _row(self, account: str) -> _Row:
        return account, self._month()

    def _month(self) -> str:
        return time.strftime("%Y-%m", time.gmtime(self._clock()))


def _add_to(file: Path, counts: Counter[_Row]) -> dict[_Row, int]:
    """Add to the rows and return their totals, including counts of other servers."""
    with closing(sqlite3.connect(file)) as database, database:
        return {
            row: database.execute(
                "INSERT INTO usage VALUES (?, ?, ?) ON CONFLICT DO UPDATE "
                "SET characters = characters + excluded.characters RETURNING characters",
                (*row, n_characters),
            ).fetchone()[0]
            for row, n_characters in counts.items()
        }
