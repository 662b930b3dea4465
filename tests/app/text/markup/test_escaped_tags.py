from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.markup.escaped_tags import escaped_elements, has_inline_tags, unescaped
from app.text.markup.tokens import MAX_DEPTH
from tests.cases import cases
from tests.linear import assert_linear

BLOCKS = frozenset({"p"})


def pieces(raw: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.raw) for piece in escaped_elements(raw, BLOCKS) if piece.raw]


@pytest.mark.parametrize(("raw", "tags"), cases(__file__, "tags_around_words_are_elements"))
def test_tags_around_words_are_elements(raw: str, tags: list[str]) -> None:
    assert [raw for kind, raw in pieces(raw) if kind != "text"] == tags


@given(
    st.lists(
        st.sampled_from(["&lt;", "&gt;", "/", "b", "i", "p", " ", "x", "&amp;", "1"]), max_size=30
    ).map("".join)
)
def test_the_pieces_are_the_text_and_every_tag_has_its_partner(raw: str) -> None:
    found = pieces(raw)
    assert "".join(raw for _, raw in found) == raw
    depth = 0
    for kind, _ in found:
        depth += (kind == "open") - (kind == "close")
        assert 0 <= depth <= MAX_DEPTH
    assert depth == 0
    kinds = Counter(pairwise(kind for kind, _ in found))
    assert kinds["open", "close"] == 0  # letters are between


@pytest.mark.parametrize(
    "raw",
    [
        lambda n: "&lt;b&gt;" * n + "x" + "&lt;/b&gt;" * n,
        lambda n: "&lt;b " * n,
        lambda n: "&lt;b&gt;x&lt;/b&gt;" * n,
        lambda n: "&lt;b" + " x" * n,
        lambda n: "&lt;b" + "b" * n,
    ],
)
def test_time_is_linear(raw: Callable[[int], str]) -> None:
    assert_linear(lambda n: pieces(raw(n)), 5000)


def test_references_with_more_digits_than_python_reads() -> None:
    assert unescaped("&#" + "0" * 5000 + "65;") == "A"
    assert unescaped("a &#" + "9" * 5000 + "; b") == "a \ufffd b"
    assert unescaped("&#65;&#128512;") == "A😀"


@pytest.mark.parametrize(
    ("text", "has_tags"),
    [
        ("a <b>strange</b> man", True),
        ('<a href="x">Click <i>here</i></a> now', True),
        ("a <b></b> man", False),
        ("a < b", False),
        ("a <b>bold</b> word, x < y", False),
        ("Q&A with <b>Anna</b>", False),
        ("<li>one</li>", False),
        ("List<b>x</i>", False),
        ("plain", False),
    ],
)
def test_plain_text_has_tags_if_all_are_pairs_around_words(text: str, has_tags: bool) -> None:
    assert has_inline_tags(text) == has_tags


@pytest.mark.parametrize("part", ["<b>", "<b x", "<b>x</b>", "</b>", "<b>x", "<b>x</i>"])
def test_tags_of_plain_text_are_found_in_linear_time(part: str) -> None:
    assert_linear(lambda n: has_inline_tags(part * n + "</b>"), 20_000)
