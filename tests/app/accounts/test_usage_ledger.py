import asyncio
import calendar
from pathlib import Path

import pytest

from app.accounts import usage_ledger
from app.accounts.usage_ledger import FILE_NAME, UsageLedger
from app.errors import QuotaExceededError, SettingsError

JULY = calendar.timegm((2026, 7, 31, 23, 59, 59))


class Clock:
    def __init__(self) -> None:
        self.now = JULY

    def __call__(self) -> float:
        return self.now


def charge(ledger: UsageLedger, account: str, n_characters: int) -> None:
    with ledger.charge(account, n_characters):
        pass


def opened(folder: Path, clock: Clock | None = None) -> UsageLedger:
    ledger = UsageLedger(None, folder, clock or Clock())
    ledger.open()
    return ledger


def test_failed_requests_cost_nothing() -> None:
    ledger = UsageLedger()

    def fail() -> None:
        with ledger.charge("a", 3):
            assert ledger.used("a") == 3  # requests in flight count towards the limit
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        fail()
    assert ledger.used("a") == 0


def test_the_limit_may_be_reached_but_not_passed() -> None:
    ledger = UsageLedger(limit=10)
    charge(ledger, "a", 9)
    with pytest.raises(QuotaExceededError, match="9 of the 10 characters"):
        charge(ledger, "a", 2)
    charge(ledger, "a", 1)
    charge(ledger, "b", 10)
    assert (ledger.used("a"), ledger.used("b")) == (10, 10)


def test_counts_restart_each_month() -> None:
    clock = Clock()
    ledger = UsageLedger(limit=10, clock=clock)
    charge(ledger, "a", 10)
    with ledger.charge("b", 10):
        clock.now += 1
        assert ledger.used("a") == ledger.used("b") == 0
    charge(ledger, "a", 10)


def test_counts_survive_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    clock = Clock()
    ledger = opened(folder, clock)
    charge(ledger, "a", 3)
    ledger.save()
    charge(ledger, "a", 4)
    ledger.save()
    ledger.save()
    assert opened(folder, clock).used("a") == ledger.used("a") == 7
    clock.now += 1
    assert opened(folder, clock).used("a") == 0


def test_servers_may_share_a_folder(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    charge(one, "a", 3)
    charge(other, "a", 4)
    one.save()
    other.save()
    assert (one.used("a"), other.used("a")) == (3, 7)
    charge(one, "a", 1)
    one.save()
    assert one.used("a") == opened(tmp_path).used("a") == 8


def test_a_failure_to_save_loses_nothing(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    charge(ledger, "a", 3)
    file = tmp_path / FILE_NAME
    kept = file.read_bytes()
    file.write_bytes(b"no database" * 1000)
    ledger.save()
    assert ledger.used("a") == 3
    file.write_bytes(kept)
    ledger.save()
    assert opened(tmp_path).used("a") == 3


async def test_saves_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_ledger, "SAVE_INTERVAL", 0.01)
    ledger = opened(tmp_path)
    saving = asyncio.create_task(ledger.save_regularly())
    for n_characters in (1, 2):
        before = opened(tmp_path).used("a")
        charge(ledger, "a", n_characters)
        while opened(tmp_path).used("a") == before:
            await asyncio.sleep(0.01)
    saving.cancel()
    assert opened(tmp_path).used("a") == 3


@pytest.mark.parametrize("content", [b"no database" * 1000, None])
def test_an_unusable_file_is_reported_at_start(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / FILE_NAME).mkdir()
    else:
        (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(SettingsError, match=FILE_NAME):
        opened(tmp_path)
