import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from app.accounts import glossary_store, usage_ledger
from app.accounts.database import GLOSSARIES, USAGE
from app.accounts.glossary_store import FILE_NAME, GlossaryStore, StoredDictionary
from app.accounts.usage_ledger import UsageLedger
from app.errors import (
    QuotaExceededError,
    SettingsError,
    StorageFullError,
    StorageUnavailableError,
    UnknownDictionaryError,
    UnknownGlossaryError,
)

ENTRIES = {"cat": "chat", "credit card": "carte bleue", "«": "’"}
PAIR = ("en", "fr")
BACK = ("fr", "en")
BOTH = {PAIR: ENTRIES, BACK: {"chat": "cat"}}


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GlossaryStore]:
    opened = GlossaryStore(tmp_path / "data" if request.param == "file" else None)
    opened.open()
    yield opened
    opened.close()


def test_a_stored_glossary_is_found_until_it_is_removed(store: GlossaryStore) -> None:
    stored = store.add("", "Animals", BOTH)
    assert stored.name == "Animals"
    assert stored.dictionaries == (
        StoredDictionary("en", "fr", 3), StoredDictionary("fr", "en", 1),
    )  # fmt: skip
    assert datetime.now(UTC) - stored.created < timedelta(minutes=1)
    assert store.get(stored.id, "") == stored
    assert list(store.entries(stored.id, "", PAIR).items()) == list(ENTRIES.items())
    assert store.all_of("") == [stored]
    store.remove(stored.id, "")
    assert store.all_of("") == []
    for look_up in (store.get, partial(store.entries, pair=PAIR), store.remove):
        with pytest.raises(UnknownGlossaryError):
            look_up(stored.id, "")


def test_a_client_cannot_see_or_remove_anothers(store: GlossaryStore) -> None:
    mine = store.add("me", "A", BOTH)
    theirs = store.add("they", "A", BOTH)
    assert store.all_of("me") == [mine]
    for look_up in (store.get, partial(store.entries, pair=PAIR), store.remove):
        with pytest.raises(UnknownGlossaryError):
            look_up(theirs.id, "me")
    assert store.all_of("they") == [theirs]


def test_the_oldest_comes_first() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    times = iter([now, now + timedelta(seconds=2), now + timedelta(seconds=1)])
    store = GlossaryStore(clock=lambda: next(times))
    store.open()
    for name in "acb":
        store.add("", name, BOTH)
    assert [one.name for one in store.all_of("")] == ["a", "b", "c"]
    store.close()


def test_an_account_has_few_glossaries(
    store: GlossaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_store, "MAX_GLOSSARIES", 2)
    for _ in range(2):
        store.add("me", "A", BOTH)
    with pytest.raises(QuotaExceededError):
        store.add("me", "A", BOTH)
    store.add("they", "A", BOTH)
    assert len(store.all_of("me")) == 2


def test_a_file_outlives_its_server_and_is_shared(tmp_path: Path) -> None:
    first, second = GlossaryStore(tmp_path), GlossaryStore(tmp_path)
    first.open()
    second.open()
    stored = first.add("", "A", BOTH)
    assert second.all_of("") == [stored]
    first.close()
    second.close()
    third = GlossaryStore(tmp_path)
    third.open()
    assert third.entries(stored.id, "", PAIR) == ENTRIES
    third.close()


def test_many_threads_may_use_it(store: GlossaryStore) -> None:
    threads = [threading.Thread(target=store.add, args=("", str(n), BOTH)) for n in range(8)]
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


def test_before_it_is_open_it_cannot_be_queried() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        GlossaryStore().all_of("")


def test_a_full_disk_has_its_own_error_and_stored_glossaries_stay(tmp_path: Path) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    kept = store.add("", "kept", BOTH)
    assert store._database
    [n_pages] = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count = {n_pages}")  # as SQLite reports a full disk
    with pytest.raises(StorageFullError):
        store.add("", "more", {PAIR: {"a" * 100_000: "b"}})
    assert store.entries(kept.id, "", PAIR) == ENTRIES
    store.close()


@pytest.mark.parametrize("trouble", ["read-only", "locked", "broken"])
def test_a_file_that_cannot_be_changed_has_its_own_error(tmp_path: Path, trouble: str) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    kept = store.add("", "kept", BOTH)
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
        store.add("", "more", BOTH)
    if trouble == "read-only":
        assert store.entries(kept.id, "", PAIR) == ENTRIES
        with pytest.raises(StorageUnavailableError):
            store.remove(kept.id, "")
    other.close()
    store.close()


def test_a_folder_of_a_newer_attend_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = GlossaryStore(tmp_path)
    store.open()
    store.close()
    UsageLedger(folder=tmp_path).open()
    versions = {FILE_NAME: GLOSSARIES.version, usage_ledger.FILE_NAME: USAGE.version}
    for name, version in versions.items():
        with closing(sqlite3.connect(tmp_path / name)) as database:
            assert database.execute("PRAGMA user_version").fetchone() == (version,)
            database.execute("PRAGMA user_version = 99")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for newer in (GlossaryStore(tmp_path), UsageLedger(folder=tmp_path)):
        with pytest.raises(SettingsError, match=r"schema version 99 .* this one reads [12]"):
            newer.open()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


OLD = """
CREATE TABLE glossaries (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL,
    target TEXT NOT NULL, created TEXT NOT NULL, n_entries INTEGER NOT NULL, entries TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX glossaries_of_account ON glossaries (account, created, id);
INSERT INTO glossaries VALUES
    ('b', 'me', 'Later', 'fr', 'en', '2025-01-02T00:00:00+00:00', 1, '{"chat": "cat"}'),
    ('a', 'me', 'First', 'en', 'fr', '2025-01-01T00:00:00+00:00', 1, '{"cat": "\u00e9"}'),
    ('c', 'they', 'Other', 'en', 'fr', '2025-01-03T00:00:00+00:00', 1, '{"dog": "chien"}');
"""
"""The tables that versions 0 and 1 wrote."""


@pytest.mark.parametrize("version", [0, 1])
def test_a_folder_of_an_older_attend_is_converted(tmp_path: Path, version: int) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.executescript(OLD + f"PRAGMA user_version = {version};")
    for _ in range(2):  # and is still there when it is opened again
        store = GlossaryStore(tmp_path)
        store.open()
        assert [one.name for one in store.all_of("me")] == ["First", "Later"]
        assert store.get("b", "me").dictionaries == (StoredDictionary("fr", "en", 1),)
        assert store.entries("a", "me", PAIR) == {"cat": "é"}
        assert [one.id for one in store.all_of("they")] == ["c"]
        store.close()


def test_a_conversion_that_fails_changes_nothing(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.executescript(OLD + "CREATE TABLE dictionaries (other TEXT);")
    with pytest.raises(SettingsError, match="cannot be used"):
        GlossaryStore(tmp_path).open()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        assert database.execute("SELECT count(*) FROM glossaries").fetchone() == (3,)


def test_dictionaries_are_added_changed_and_removed(store: GlossaryStore) -> None:
    made = store.add("", "A", {PAIR: {"cat": "chat"}})
    changed = store.update(made.id, "", "B", {BACK: {"chat": "cat"}, PAIR: {"dog": "chien"}})
    assert (changed.name, changed.created) == ("B", made.created)
    assert [one.pair for one in changed.dictionaries] == [PAIR, BACK]
    assert store.entries(made.id, "", PAIR) == {"cat": "chat", "dog": "chien"}
    store.update(made.id, "", dictionaries={PAIR: {"cat": "matou"}})
    assert store.entries(made.id, "", PAIR) == {"cat": "matou", "dog": "chien"}
    assert store.replace(made.id, "", PAIR, {"a": "b"}) == StoredDictionary("en", "fr", 1)
    assert store.entries(made.id, "", PAIR) == {"a": "b"}
    store.remove_dictionary(made.id, "", PAIR)
    assert store.get(made.id, "").dictionaries == (StoredDictionary("fr", "en", 1),)
    for look_up in (store.entries, store.remove_dictionary):
        with pytest.raises(UnknownDictionaryError):
            look_up(made.id, "", PAIR)
    store.remove_dictionary(made.id, "", BACK)
    assert store.get(made.id, "").dictionaries == ()
    assert [one.id for one in store.all_of("")] == [made.id]


def test_a_client_cannot_change_anothers(store: GlossaryStore) -> None:
    theirs = store.add("they", "A", BOTH)
    for change in (
        partial(store.update, name="mine"),
        partial(store.replace, pair=PAIR, entries={"a": "b"}),
        partial(store.remove_dictionary, pair=PAIR),
    ):
        with pytest.raises(UnknownGlossaryError):
            change(theirs.id, "me")
    assert store.get(theirs.id, "they") == theirs


def test_a_change_beyond_the_bytes_is_undone(
    store: GlossaryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_store, "MAX_BYTES", 100)
    made = store.add("me", "A", {PAIR: {"cat": "chat"}})
    much = {PAIR: {"x" * 60: "y" * 60}}
    for change in (
        partial(store.add, "me", "B", much),
        partial(store.update, made.id, "me", "B", much),
        partial(store.replace, made.id, "me", PAIR, much[PAIR]),
    ):
        with pytest.raises(QuotaExceededError, match="100 bytes"):
            change()
    assert store.all_of("me") == [made]
    assert store.entries(made.id, "me", PAIR) == {"cat": "chat"}
