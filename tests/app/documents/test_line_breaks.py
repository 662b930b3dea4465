from hypothesis import given
from hypothesis import strategies as st

from app.documents.line_breaks import apportioned, filled

WORDS = st.lists(st.text("abc.,", min_size=1, max_size=8), min_size=1, max_size=20).map(" ".join)


def test_lines_are_filled() -> None:
    assert filled("aaa bb c dddd", 6) == "aaa bb\nc dddd"
    assert filled("aaaaaaaaa bb", 6) == "aaaaaaaaa\nbb"
    assert filled("a b", 0) == "a\nb"


@given(WORDS, st.integers(0, 30))
def test_characters_keep_positions_and_lines_are_short(text: str, width: int) -> None:
    lines = filled(text, width)
    assert lines.replace("\n", " ") == text
    for line, after in zip(lines.split("\n"), lines.split("\n")[1:], strict=False):
        assert len(line) <= width or " " not in line
        assert len(line) + 1 + len(after.split()[0]) > width


def test_shares_are_cut_between_words_preferably_after_a_comma() -> None:
    assert apportioned("one two three four", [3, 3]) == ["one two", "three four"]
    assert apportioned("one two three, four", [8, 8]) == ["one two three,", "four"]
    assert apportioned("one two three four", [1, 5]) == ["one", "two three four"]
    assert apportioned("Oui.", [5, 5]) == ["Oui."]
    assert apportioned("我们明天一起去", [5, 5, 4]) == ["我们", "明天一", "起去"]


@given(WORDS, st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_nothing_is_lost_and_lines_match_the_words(text: str, shares: list[int]) -> None:
    lines = apportioned(text, shares)
    assert " ".join(lines) == text
    assert len(lines) == min(len(shares), len(text.split(" ")))
