from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.accounts import glossary_store, usage_ledger
from app.accounts.glossary_store import FILE_NAME, GlossaryStore
from app.accounts.schema_version import SCHEMA_VERSION
from app.accounts.usage_ledger import UsageLedger
from app.errors import (
    QuotaExceededError,
    SettingsError,
    StorageFullError,
    StorageUnavailableError,
    UnknownGlossaryError,
)

ENTRIES = {"cat": "chat", "credit card": "carte bleue", "«": "’"}


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GlossaryStore]:
    opened = GlossaryStore(tmp_path / "data" if request.param == "file" else None)
    opened.open()
    yield opened
    opened.close()


def test_what_is_stored_is_found_again_until_it_is_removed(store: GlossaryStore) -> None:
    stored = store.add("", "Animals", ("en", "fr"), ENTRIES)
    assert (stored.name, stored.source, stored.target, stored.n_entries) == (
        "Animals", "en", "fr", 3,
    )  # fmt: skip
    assert datetime.now(UTC) - stored.created < timedelta(minutes=1)
    assert store.get(stored.id, "") == stored
    assert list(store.entries(stored.id, "").items()) == list(ENTRIES.items())
    assert store.all_of("") == [stored]
    store.remove(stored.id, "")
    assert store.all_of("") == []
    for look_up in (store.get, store.entries, store.remove):
        with pytest.raises(UnknownGlossaryError):
            look_up(stored.id, "")


def test_nobody_sees_or_removes_anothers(store: GlossaryStore) -> None:
    mine = store.add("me", "A", ("en", "fr"), ENTRIES)
    theirs = store.add("they", "A", ("en", "fr"), ENTRIES)
    assert store.all_of("me") == [mine]
    for look_up in (store.get, store.entries, store.remove):
        with pytest.raises(UnknownGlossaryError):
            look_up(theirs.id, "me")
    assert store.all_of("they") == [theirs]


def test_the_oldest_comes_first() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    times = iter([now, now + timedelta(seconds=2), now + timedelta(seconds=1)])
    store = GlossaryStore(clock=lambda: next(times))
    store.open()
    for name in "acb":
        store.add("", name, ("en", "fr"), ENTRIES)
    assert [one.name for one in store.all_of("")] == ["a", "b", "c"]
    store.close()


def test_an_account_has_so_many_and_no_more(
    store: GlossaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_store, "MAX_GLOSSARIES", 2)
    for _ in range(2):
        store.add("me", "A", ("en", "fr"), ENTRIES)
    with pytest.raises(QuotaExceededError):
        store.add("me", "A", ("en", "fr"), ENTRIES)
    store.add("they", "A", ("en", "fr"), ENTRIES)
    assert len(store.all_of("me")) == 2


def test_a_file_outlives_its_server_and_is_shared(tmp_path: Path) -> None:
    first, second = GlossaryStore(tmp_path), GlossaryStore(tmp_path)
    first.open()
    second.open()
    stored = first.add("", "A", ("en", "fr"), ENTRIES)
    assert second.all_of("") == [stored]
    first.close()
    second.close()
    third = GlossaryStore(tmp_path)
    third.open()
    assert third.entries(stored.id, "") == ENTRIES
    third.close()


def test_many_threads_may_use_it(store: GlossaryStore) -> None:
    threads = [
        threading.Thread(target=store.add, args=("", str(n), ("en", "fr"), ENTRIES))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.name for one in store.all_of("")) == list("01234567")


def test_a_folder_or_file_that_cannot_be_used_is_a_fault_of_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="'data'"):
        GlossaryStore(tmp_path / "file").open()
    (tmp_path / FILE_NAME).write_text("this is no database" * 100)
    with pytest.raises(SettingsError, match="cannot be used"):
        GlossaryStore(tmp_path).open()


def test_before_it_is_open_there_is_nothing_to_ask() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        GlossaryStore().all_of("")


def test_a_full_disk_is_told_apart_and_what_was_stored_stays(tmp_path: Path) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    kept = store.add("", "kept", ("en", "fr"), ENTRIES)
    assert store._database
    [n_pages] = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count = {n_pages}")  # as SQLite is told by the disk
    with pytest.raises(StorageFullError):
        store.add("", "more", ("en", "fr"), {"a" * 100_000: "b"})
    assert store.entries(kept.id, "") == ENTRIES
    store.close()


@pytest.mark.parametrize("trouble", ["read-only", "locked", "broken"])
def test_a_file_that_cannot_be_changed_is_told_so(tmp_path: Path, trouble: str) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    kept = store.add("", "kept", ("en", "fr"), ENTRIES)
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    assert store._database
    if trouble == "read-only":
        store._database.execute("PRAGMA query_only = 1")
    elif trouble == "locked":
        store._database.execute("PRAGMA busy_timeout = 1")
        other.execute("BEGIN EXCLUSIVE")
    else:
        (tmp_path / FILE_NAME).write_bytes(b"x" * 20_000)
        store._database.execute("PRAGMA cache_size = 0")
    with pytest.raises(StorageUnavailableError):
        store.add("", "more", ("en", "fr"), ENTRIES)
    if trouble == "read-only":
        assert store.entries(kept.id, "") == ENTRIES
        with pytest.raises(StorageUnavailableError):
            store.remove(kept.id, "")
    other.close()
    store.close()


def test_a_folder_of_a_newer_attend_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    store.close()
    UsageLedger(folder=tmp_path).open()
    for name in (FILE_NAME, usage_ledger.FILE_NAME):
        with closing(sqlite3.connect(tmp_path / name)) as database:
            assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
            database.execute("PRAGMA user_version = 99")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for newer in (GlossaryStore(tmp_path), UsageLedger(folder=tmp_path)):
        with pytest.raises(SettingsError, match=r"schema version 99 .* this one reads 1"):
            newer.open()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_of_the_first_version_is_read(tmp_path: Path) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    kept = store.add("", "kept", ("en", "fr"), ENTRIES)
    store.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.execute("PRAGMA user_version = 0")
    store.open()
    assert store.entries(kept.id, "") == ENTRIES
    store.close()
