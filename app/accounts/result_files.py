"""Translated files waiting for download: in memory, with limits on size and time."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from app.errors import TextTooLongError

LIFETIME = 1200.0
"""Seconds for which a file is kept."""

STORED_FILES = 10
"""Files of the largest accepted size that a store can hold."""

MAX_FILES = 1000
"""Files at a time; beyond, the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A translated file of an account; `file_name` is its name on download."""

    data: bytes
    file_name: str
    media_type: str
    account: str


class FileStore:
    """Keeps files for `LIFETIME`; beyond `max_bytes` or `MAX_FILES`, the oldest are dropped.

    Nothing is written to disk; each process has a separate store.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_bytes = max_bytes
        self._clock = clock
        self._files: OrderedDict[str, tuple[float, StoredFile]] = OrderedDict()
        self._n_bytes = 0

    def put(self, file: StoredFile) -> str:
        """Store a file and return an unguessable name for it. Raises `TextTooLongError`."""
        if len(file.data) > self.max_bytes:
            raise TextTooLongError(
                f"the translated file exceeds the limit of {self.max_bytes:,} bytes"
            )
        self._forget()
        while self._files and (
            self._n_bytes + len(file.data) > self.max_bytes or len(self._files) >= MAX_FILES
        ):
            self._drop_oldest()
        suffix = PurePath(file.file_name).suffix.lower()
        name = secrets.token_urlsafe(24) + suffix  # protects it from clients without a key
        self._files[name] = (self._clock() + LIFETIME, file)
        self._n_bytes += len(file.data)
        return name

    def get(self, name: str) -> StoredFile | None:
        """Return the file of a name, unless it has expired."""
        self._forget()
        _, file = self._files.get(name, (0.0, None))
        return file

    def remove(self, name: str) -> None:
        _, file = self._files.pop(name, (0.0, None))
        self._n_bytes -= len(file.data) if file else 0

    def _forget(self) -> None:
        now = self._clock()
        while self._files and next(iter(self._files.values()))[0] <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (_, file) = self._files.popitem(last=False)
        self._n_bytes -= len(file.data)
