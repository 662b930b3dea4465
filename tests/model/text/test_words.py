import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.words import Span, whitespace_words, words


def read(text: str, spans: list[Span]) -> list[str]:
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("The dog, 3.5!", ["The", "dog", ",", "3", ".", "5", "!"]),
        # An elided word ends with its apostrophe; a quotation mark is not part of a word.
        ("l'homme aujourd’hui", ["l'", "homme", "aujourd’", "hui"]),
        ("'the dogs' 'n", ["'", "the", "dogs", "'", "'", "n"]),
        ("pipe-line", ["pipe", "-", "line"]),
        # Combining marks and joiners belong to the characters around them.
        ("e\u0301te\u0301 हिन्दी", ["e\u0301te\u0301", "हिन्दी"]),
        ("👩\u200d🔬x", ["👩\u200d", "🔬", "x"]),
        ("\u0301a", ["\u0301", "a"]),
        ("我们 ok", ["我", "们", "ok"]),
        ("oﬃce", ["oﬃce"]),
    ],
)
def test_words_by_hand(text: str, expected: list[str]) -> None:
    assert read(text, words(text)) == expected


def test_whitespace_words_are_those_of_split() -> None:
    text = " Mr.  Speaker ,\tl'homme "
    assert whitespace_words(text) == [(1, 4), (6, 13), (14, 15), (16, 23)]
    assert read(text, whitespace_words(text)) == text.split()


@given(st.text())
def test_words_cover_everything_but_whitespace_once_and_in_order(text: str) -> None:
    for split in (words, whitespace_words):
        covered = [place for start, end in split(text) for place in range(start, end)]
        assert covered == [place for place, it in enumerate(text) if not it.isspace()]
        assert all(start < end for start, end in split(text))
