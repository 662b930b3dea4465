import pytest

from app.accounts.clients import EVERYONE, Keys
from app.errors import MissingKeyError, WrongKeyError


def test_without_keys_everyone_is_welcome_and_takes_turns_by_address() -> None:
    keys = Keys([])
    assert not keys.needed
    one, other = keys.client(None, "10.0.0.1"), keys.client("whatever", "10.0.0.2")
    assert (one.account, other.account) == (EVERYONE, EVERYONE)
    assert one.turn != other.turn


def test_a_key_is_an_account_wherever_it_comes_from() -> None:
    keys = Keys(["old", "new"])
    assert keys.needed
    assert keys.client("old", "10.0.0.1") == keys.client("old", "10.0.0.2")
    assert keys.client("old", "10.0.0.1").account != keys.client("new", "10.0.0.1").account


@pytest.mark.parametrize("key", [None, ""])
def test_a_key_is_needed(key: str | None) -> None:
    with pytest.raises(MissingKeyError):
        Keys(["old"]).client(key, "10.0.0.1")


@pytest.mark.parametrize("key", ["older", "ol", "OLD", "old ", "é", "\ud800", "a" * 100_000])
def test_a_key_that_is_nearly_right_is_wrong(key: str) -> None:
    with pytest.raises(WrongKeyError):
        Keys(["old", "new"]).client(key, "10.0.0.1")


def test_nothing_shows_a_key() -> None:
    keys = Keys(["hush-hush"])
    shown = repr(keys) + repr(vars(keys)) + repr(keys.client("hush-hush", "10.0.0.1"))
    assert "hush" not in shown
