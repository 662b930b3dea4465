import pytest

from app.accounts import result_files
from app.accounts.result_files import LIFETIME, FileStore, StoredFile
from app.errors import TextTooLongError
from tests.app.scheduling.harness import FakeClock


def file(n_bytes: int) -> StoredFile:
    return StoredFile(b"x" * n_bytes, "a.TXT", "text/plain", "me")


def test_a_file_is_kept_for_a_while_under_a_name_of_its_own() -> None:
    clock = FakeClock()
    store = FileStore(100, clock=clock)
    names = [store.put(file(1)) for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.endswith(".txt") and len(name) > 32 for name in names)
    clock.now += LIFETIME - 1
    assert store.get(names[0]) == file(1)
    clock.now += 1
    assert store.get(names[0]) is None
    assert store.get("other") is None


def test_the_oldest_is_evicted() -> None:
    store = FileStore(10, clock=FakeClock())
    first, second = store.put(file(4)), store.put(file(4))
    third = store.put(file(6))
    assert [store.get(name) is None for name in (first, second, third)] == [True, False, False]
    last = store.put(file(10))
    assert store.get(last) == file(10)
    assert store.get(third) is None
    with pytest.raises(TextTooLongError, match="the limit of 10 bytes"):
        store.put(file(11))
    assert store.get(last) == file(10)


def test_the_number_of_files_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_files, "MAX_FILES", 2)
    store = FileStore(100, clock=FakeClock())
    first, second, third = (store.put(file(1)) for _ in range(3))
    assert [store.get(name) is None for name in (first, second, third)] == [True, False, False]


def test_removed_files_free_their_space() -> None:
    store = FileStore(10, clock=FakeClock())
    first, second = store.put(file(5)), store.put(file(5))
    store.remove(second)
    store.remove(second)  # an already removed file
    third = store.put(file(5))
    assert [store.get(name) is None for name in (first, second, third)] == [False, True, False]
