"""Documents in DeepL's sense: uploaded, translated in the background, downloaded once.

A document belongs to an account and has a key; both are needed to see it. Their number, age and
bytes are limited. They are only in memory: a restart loses them.
"""

import asyncio
import hmac
import math
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from app.accounts.result_files import LIFETIME, FileStore, StoredFile
from app.errors import DocumentNotReadyError, DrainingError, QueueFullError, UnknownDocumentError

MAX_DOCUMENTS = 1000
"""In memory, translated or not; beyond, the oldest finished ones are dropped."""

MAX_UNFINISHED = 50
"""Per client."""

RETRY_AFTER = 5
"""Seconds after which a refused client may try again."""

Status: TypeAlias = Literal["queued", "translating", "done", "error"]


@dataclass(eq=False)
class DocumentJob:
    """A document in translation, or translated.

    n_bytes       of the upload, which is kept until it is translated
    n_characters  charged for it
    done          fraction of its characters
    error         why it failed
    """

    account: str
    client: str
    n_bytes: int
    n_characters: int
    clock: Callable[[], float]
    id: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    key: str = field(default_factory=lambda: secrets.token_hex(32).upper())
    status: Status = "queued"
    error: Exception | None = None
    result: str | None = None
    began: float = math.inf
    ended: float = math.inf
    done: float = 0.0
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[StoredFile] | None = None

    def begin(self) -> None:
        self.status, self.began = "translating", self.clock()

    def advance(self, n_done: int, n_characters: int) -> None:
        self.done = n_done / max(1, n_characters)

    @property
    def seconds_remaining(self) -> int | None:
        """Estimate when the translation ends; None unless it is in progress."""
        if self.status != "translating":
            return None
        elapsed = self.clock() - self.began
        return math.ceil(elapsed * (1 - self.done) / self.done if self.done else max(1.0, elapsed))


Work: TypeAlias = Callable[[DocumentJob], Coroutine[Any, Any, StoredFile]]
"""Translates a document; calls `begin` and `advance`."""


class DocumentJobs:
    """The documents of all clients.

    results  stores the translations; untranslated uploads have at most as many bytes in addition
    """

    def __init__(self, results: FileStore, clock: Callable[[], float] = time.monotonic) -> None:
        self.results = results
        self._clock = clock
        self._jobs: dict[str, DocumentJob] = {}

    def check(self, client: str, n_bytes: int) -> None:
        """Raise `QueueFullError` if no further upload of the client can be kept."""
        self._forget(n_coming=1)
        unfinished = [job for job in self._jobs.values() if not job.finished.is_set()]
        message = None
        if sum(job.client == client for job in unfinished) >= MAX_UNFINISHED:
            message = f"{MAX_UNFINISHED} documents of this client wait already"
        elif len(unfinished) >= MAX_DOCUMENTS:
            message = f"{MAX_DOCUMENTS:,} documents wait already"
        elif sum(job.n_bytes for job in unfinished) + n_bytes > self.results.max_bytes:
            message = f"the waiting documents have {self.results.max_bytes:,} bytes already"
        if message:
            raise QueueFullError(message, RETRY_AFTER)

    def submit(
        self,
        account: str,
        client: str,
        work: Work,
        *,
        n_bytes: int,
        n_characters: int,
        refund: Callable[[], None],
    ) -> DocumentJob:
        """Translate a document in the background; if that fails, `refund` is called.

        Call `check` before, without awaiting anything between the two.
        """
        job = DocumentJob(account, client, n_bytes, n_characters, self._clock)
        self._jobs[job.id] = job
        job.task = asyncio.create_task(work(job))
        job.task.add_done_callback(lambda task: self._finish(job, task, refund))
        return job

    def find(self, document_id: str, key: str, account: str) -> DocumentJob:
        """Return an account's document. Raises `UnknownDocumentError`."""
        self._forget()
        job = self._jobs.get(document_id)
        given = key.encode("utf-8", "surrogatepass")
        if (
            job is None
            or job.account != account
            or not hmac.compare_digest(job.key.encode(), given)
        ):
            raise UnknownDocumentError
        return job

    async def wait(self, job: DocumentJob, seconds: float) -> None:
        """Wait at most `seconds` until a document is finished."""
        with suppress(TimeoutError):
            await asyncio.wait_for(job.finished.wait(), seconds)

    def file(self, job: DocumentJob) -> StoredFile:
        """Return a document's translation.

        Raises `DocumentNotReadyError`, and `UnknownDocumentError` if it failed or was dropped.
        """
        if not job.finished.is_set():
            raise DocumentNotReadyError
        if job.error:
            raise UnknownDocumentError("the document could not be translated")
        file = self.results.get(job.result) if job.result else None
        if file is None:
            raise UnknownDocumentError("the translated document was dropped: too many are stored")
        return file

    def delete(self, job: DocumentJob) -> None:
        self._jobs.pop(job.id, None)
        if job.task:
            job.task.cancel()
        if job.result:
            self.results.remove(job.result)

    async def stop(self) -> None:
        tasks = [job.task for job in self._jobs.values() if job.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _finish(
        self, job: DocumentJob, task: asyncio.Future[StoredFile], refund: Callable[[], None]
    ) -> None:
        job.task = None
        job.ended = self._clock()
        try:
            file = task.result()
            if job.id in self._jobs:
                job.result = self.results.put(file)
            job.status = "done"
        except asyncio.CancelledError:
            job.status, job.error = "error", DrainingError("the server is stopping")
        except Exception as error:  # shown to the client; logged where it was raised
            job.status, job.error = "error", error.with_traceback(None)
        if job.error:
            refund()
        job.finished.set()

    def _forget(self, n_coming: int = 0) -> None:
        """Drop finished documents that are too old, or the oldest if there are too many."""
        limit = self._clock() - LIFETIME
        finished = [job for job in self._jobs.values() if job.finished.is_set()]
        n_surplus = len(self._jobs) + n_coming - MAX_DOCUMENTS
        for index, job in enumerate(sorted(finished, key=lambda job: job.ended)):
            if index < n_surplus or job.ended <= limit:
                self.delete(job)
