import pytest

from app.errors import InvalidRequestError, TextTooLongError
from app.translation.requests import Limits

LIMITS = Limits(max_texts=2, max_text_characters=5, timeout=1)


def test_requests_at_the_limit_are_accepted() -> None:
    LIMITS.check_texts(["12345", ""])


def test_one_text_too_many_names_the_field() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        LIMITS.check_texts(["", "", ""], "q")
    assert [one.pointer for one in caught.value.errors] == ["/q"]


def test_one_character_too_many_does_not_quote_the_text() -> None:
    with pytest.raises(TextTooLongError, match="at most 5 characters") as caught:
        LIMITS.check_texts(["", "secret"])
    assert "secret" not in str(caught.value)
