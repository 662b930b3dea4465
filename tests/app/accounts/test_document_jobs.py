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
class FakeService:
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
    service = FakeService()
    job = service.submit()
    assert (len(job.id), len(job.key), job.status) == (32, 64, "queued")
    assert service.jobs.find(job.id, job.key, "me") is job
    await asyncio.sleep(0)
    assert (job.status, job.seconds_remaining) == ("translating", 1)
    with pytest.raises(DocumentNotReadyError):
        service.jobs.file(job)
    service.clock.now += 10
    job.advance(1, 4)
    assert job.seconds_remaining == 30
    await service.jobs.wait(job, 0.01)
    assert not job.finished.is_set()
    service.gate.set()
    await service.jobs.wait(job, 10)
    assert job.status == "done"
    assert job.seconds_remaining is None
    assert service.jobs.file(job) == FILE
    service.jobs.delete(job)
    with pytest.raises(UnknownDocumentError):
        service.jobs.find(job.id, job.key, "me")
    with pytest.raises(UnknownDocumentError, match="dropped"):
        service.jobs.file(job)
    assert service.refunded == []


async def test_a_document_is_its_clients_own() -> None:
    service = FakeService()
    job = service.submit()
    for found in ((job.id, "0" * 64, "me"), (job.id, job.key, "they"), ("0", job.key, "me"),
                  (job.id, "é\ud800", "me")):  # fmt: skip
        with pytest.raises(UnknownDocumentError):
            service.jobs.find(*found)
    await service.jobs.stop()


async def test_a_failure_is_kept_and_refunded() -> None:
    service = FakeService()
    job = service.submit(error=UnreadableFileError("line 1"))
    service.gate.set()
    await service.jobs.wait(job, 10)
    assert (job.status, str(job.error)) == ("error", "line 1")
    assert service.refunded == ["me"]
    with pytest.raises(UnknownDocumentError, match="could not be translated"):
        service.jobs.file(job)


async def test_a_translation_too_large_to_store_is_a_failure() -> None:
    service = FakeService(stored_bytes=3)
    job = service.submit()
    service.gate.set()
    await service.jobs.wait(job, 10)
    assert isinstance(job.error, TextTooLongError)
    assert service.refunded == ["me"]


@pytest.mark.parametrize("when", ["before it begins", "while it is translated"])
async def test_a_deleted_document_stops_and_is_refunded(when: str) -> None:
    service = FakeService()
    job = service.submit()
    task = job.task
    assert task
    if when == "while it is translated":
        await asyncio.sleep(0)
    service.jobs.delete(job)
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert task.cancelled()
    assert service.refunded == ["me"]
    assert job.result is None


async def test_a_stopping_server_ends_them() -> None:
    service = FakeService()
    job = service.submit()
    await asyncio.sleep(0)
    await service.jobs.stop()
    await service.jobs.wait(job, 10)
    assert isinstance(job.error, DrainingError)


async def test_unfinished_documents_of_a_client_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_jobs, "MAX_UNFINISHED", 2)
    service = FakeService()
    first, _ = service.submit(), service.submit()
    with pytest.raises(QueueFullError, match="2 documents of this client"):
        service.submit()
    service.submit("they")
    service.gate.set()
    await service.jobs.wait(first, 10)
    service.submit()
    await service.jobs.stop()


async def test_waiting_bytes_are_limited() -> None:
    service = FakeService(stored_bytes=100)
    service.submit(n_bytes=60)
    with pytest.raises(QueueFullError, match="100 bytes"):
        service.submit(n_bytes=41)
    service.submit(n_bytes=40)
    await service.jobs.stop()


async def test_the_oldest_finished_document_is_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_jobs, "MAX_DOCUMENTS", 2)
    service = FakeService()
    first, second = service.submit(), service.submit()
    with pytest.raises(QueueFullError, match="2 documents wait"):
        service.submit("they")
    service.gate.set()
    await service.jobs.wait(first, 10)
    await service.jobs.wait(second, 10)
    third = service.submit("they")
    with pytest.raises(UnknownDocumentError):
        service.jobs.find(first.id, first.key, "me")
    assert service.jobs.find(second.id, second.key, "me") is second
    await service.jobs.wait(third, 10)


async def test_a_finished_one_is_kept_for_a_while() -> None:
    service = FakeService()
    service.gate.set()
    job = service.submit()
    await service.jobs.wait(job, 10)
    service.clock.now += LIFETIME - 1
    assert service.jobs.find(job.id, job.key, "me") is job
    service.clock.now += 1
    with pytest.raises(UnknownDocumentError):
        service.jobs.find(job.id, job.key, "me")
