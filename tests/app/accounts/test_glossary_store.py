from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.accounts import glossary_store
from app.accounts.glossary_store import FILE_NAME, GlossaryStore
from app.errors import QuotaExceededError, SettingsError, UnknownGlossaryError

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
