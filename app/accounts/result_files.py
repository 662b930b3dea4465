"""Translated files until they are fetched: in memory, bounded, for a while."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.errors import TextTooLongError

NAME_BYTES = 24
"""Random bytes of a name, which is all that keeps a file from those whom it does not concern."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A translated file; `file_name` is what it is called when it is saved."""

    data: bytes
    file_name: str
    media_type: str


class FileStore:
    """Keeps files for `lifetime` seconds; of more than `max_bytes` together the oldest goes first.

    Nothing is written to disk, and each process of several has a store of its own.
    """

    def __init__(
        self, max_bytes: int, lifetime: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes = max_bytes
        self._lifetime = lifetime
        self._clock = clock
        self._files: OrderedDict[str, tuple[float, StoredFile]] = OrderedDict()
        self._n_bytes = 0

    def put(self, file: StoredFile, suffix: str) -> str:
        """Keep a file; its name here, which cannot be guessed. Raises `TextTooLongError`."""
        if len(file.data) > self._max_bytes:
            raise TextTooLongError(
                f"the translated file has more than the {self._max_bytes:,} bytes that are kept"
            )
        self._forget()
        while self._n_bytes + len(file.data) > self._max_bytes:
            self._drop_oldest()
        name = secrets.token_urlsafe(NAME_BYTES) + suffix
        self._files[name] = (self._clock() + self._lifetime, file)
        self._n_bytes += len(file.data)
        return name

    def get(self, name: str) -> StoredFile | None:
        """The file of a name, as long as it is kept."""
        self._forget()
        _, file = self._files.get(name, (0.0, None))
        return file

    def _forget(self) -> None:
        now = self._clock()
        while self._files and next(iter(self._files.values()))[0] <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (_, file) = self._files.popitem(last=False)
        self._n_bytes -= len(file.data)
