import asyncio
from dataclasses import dataclass, field

import pytest

from app.accounts import document_jobs
from app.accounts.document_jobs import DocumentJob, DocumentJobs
from app.accounts.result_files import LIFETIME, FileStore, StoredFile
from app.errors import (
    DocumentNotReadyError,
    DrainingError,
    QueueFullError,
    TextTooLongError,
    UnknownDocumentError,
    UnreadableFileError,
)
from tests.app.scheduling.harness import FakeClock

FILE = StoredFile(b"Bonjour", "a.fr.txt", "text/plain", "me")


@dataclass
class Desk:
    """Jobs that end when `gate` opens."""

    clock: FakeClock = field(default_factory=FakeClock)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    refunded: list[str] = field(default_factory=list)
    stored_bytes: int = 1000

    def __post_init__(self) -> None:
        results = FileStore(self.stored_bytes, self.clock)
        self.jobs = DocumentJobs(results, clock=self.clock)

    def submit(
        self, client: str = "me", n_bytes: int = 1, error: Exception | None = None
    ) -> DocumentJob:
        async def work(job: DocumentJob) -> StoredFile:
            job.begin()
            await self.gate.wait()
            if error:
                raise error
            return FILE

        self.jobs.check(client, n_bytes)
        return self.jobs.submit(
            client, client, work, n_bytes=n_bytes, n_characters=7,
            refund=lambda: self.refunded.append(client),
        )  # fmt: skip


async def test_from_upload_to_download() -> None:
    desk = Desk()
    job = desk.submit()
    assert (len(job.id), len(job.key), job.status) == (32, 64, "queued")
    assert desk.jobs.find(job.id, job.key, "me") is job
    await asyncio.sleep(0)
    assert (job.status, job.seconds_remaining) == ("translating", 1)
    with pytest.raises(DocumentNotReadyError):
        desk.jobs.file(job)
    desk.clock.now += 10
    job.advance(1, 4)
    assert job.seconds_remaining == 30
    await desk.jobs.wait(job, 0.01)
    assert not job.finished.is_set()
    desk.gate.set()
    await desk.jobs.wait(job, 10)
    assert job.status == "done"
    assert job.seconds_remaining is None
    assert desk.jobs.file(job) == FILE
    desk.jobs.delete(job)
    with pytest.raises(UnknownDocumentError):
        desk.jobs.find(job.id, job.key, "me")
    with pytest.raises(UnknownDocumentError, match="dropped"):
        desk.jobs.file(job)
    assert desk.refunded == []


async def test_a_document_is_its_clients_own() -> None:
    desk = Desk()
    job = desk.submit()
    for found in ((job.id, "0" * 64, "me"), (job.id, job.key, "they"), ("0", job.key, "me"),
                  (job.id, "é\ud800", "me")):  # fmt: skip
        with pytest.raises(UnknownDocumentError):
            desk.jobs.find(*found)
    await desk.jobs.stop()


async def test_a_failure_is_kept_and_refunded() -> None:
    desk = Desk()
    job = desk.submit(error=UnreadableFileError("line 1"))
    desk.gate.set()
    await desk.jobs.wait(job, 10)
    assert (job.status, str(job.error)) == ("error", "line 1")
    assert desk.refunded == ["me"]
    with pytest.raises(UnknownDocumentError, match="could not be translated"):
        desk.jobs.file(job)


async def test_a_translation_too_large_to_store_is_a_failure() -> None:
    desk = Desk(stored_bytes=3)
    job = desk.submit()
    desk.gate.set()
    await desk.jobs.wait(job, 10)
    assert isinstance(job.error, TextTooLongError)
    assert desk.refunded == ["me"]


@pytest.mark.parametrize("when", ["before it begins", "while it is translated"])
async def test_a_deleted_document_stops_and_is_refunded(when: str) -> None:
    desk = Desk()
    job = desk.submit()
    task = job.task
    assert task
    if when == "while it is translated":
        await asyncio.sleep(0)
    desk.jobs.delete(job)
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert task.cancelled()
    assert desk.refunded == ["me"]
    assert job.result is None


async def test_a_stopping_server_ends_them() -> None:
    desk = Desk()
    job = desk.submit()
    await asyncio.sleep(0)
    await desk.jobs.stop()
    await desk.jobs.wait(job, 10)
    assert isinstance(job.error, DrainingError)


async def test_unfinished_documents_of_a_client_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_jobs, "MAX_UNFINISHED", 2)
    desk = Desk()
    first, _ = desk.submit(), desk.submit()
    with pytest.raises(QueueFullError, match="2 documents of this client"):
        desk.submit()
    desk.submit("they")
    desk.gate.set()
    await desk.jobs.wait(first, 10)
    desk.submit()
    await desk.jobs.stop()


async def test_waiting_bytes_are_limited() -> None:
    desk = Desk(stored_bytes=100)
    desk.submit(n_bytes=60)
    with pytest.raises(QueueFullError, match="100 bytes"):
        desk.submit(n_bytes=41)
    desk.submit(n_bytes=40)
    await desk.jobs.stop()


async def test_the_oldest_finished_document_is_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_jobs, "MAX_DOCUMENTS", 2)
    desk = Desk()
    first, second = desk.submit(), desk.submit()
    with pytest.raises(QueueFullError, match="2 documents wait"):
        desk.submit("they")
    desk.gate.set()
    await desk.jobs.wait(first, 10)
    await desk.jobs.wait(second, 10)
    third = desk.submit("they")
    with pytest.raises(UnknownDocumentError):
        desk.jobs.find(first.id, first.key, "me")
    assert desk.jobs.find(second.id, second.key, "me") is second
    await desk.jobs.wait(third, 10)


async def test_a_finished_one_is_kept_for_a_while() -> None:
    desk = Desk()
    desk.gate.set()
    job = desk.submit()
    await desk.jobs.wait(job, 10)
    desk.clock.now += LIFETIME - 1
    assert desk.jobs.find(job.id, job.key, "me") is job
    desk.clock.now += 1
    with pytest.raises(UnknownDocumentError):
        desk.jobs.find(job.id, job.key, "me")
