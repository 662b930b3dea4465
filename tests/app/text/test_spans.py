import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.spans import Span, Spans, Substitution, apart, replace, within


def test_a_replacement_moves_later_positions() -> None:
    edited = Substitution("Hello NAME, you!", [Span(6, 10)], ["x"])
    assert edited.after == "Hello x, you!"
    assert edited.positions == [Span(6, 7)]
    assert edited.origin_of(Span(0, 5)) == (0, 5)
    assert edited.origin_of(Span(6, 7)) == (6, 10)
    assert edited.origin_of(Span(5, 8)) == (5, 11)  # " x," is " NAME,"
    assert edited.origin_of(Span(13, 13)) == (16, 16)
    assert edited.position_of(Span(8, 12)) == (6, 9)
    assert edited.position_of(Span(12, 15)) == (9, 12)
    assert edited.position_of(Span(0, 0)) == (0, 0)


@given(st.text(max_size=12), st.data())
def test_other_characters_are_unchanged(text: str, data: st.DataObject) -> None:
    edges = data.draw(st.lists(st.integers(0, len(text)), unique=True, max_size=6).map(sorted))
    spans = [Span(*edges[at : at + 2]) for at in range(0, len(edges) - 1, 2)]
    words = data.draw(st.lists(st.text(max_size=3), min_size=len(spans), max_size=len(spans)))
    edited = Substitution(text, spans, words)
    assert edited.after == replace(text, spans, words)
    for span, place, word in zip(spans, edited.positions, words, strict=True):
        assert place.of(edited.after) == word
        if word:
            assert edited.position_of(span) == place
            assert edited.origin_of(place) == span
    for at, character in enumerate(text):
        if not any(span.start <= at < span.end for span in spans):
            place = edited.position_of(Span(at, at + 1))
            assert place.of(edited.after) == character
            assert edited.origin_of(place) == (at, at + 1)


EDGES = st.lists(st.integers(0, 40), unique=True, max_size=16).map(sorted)


def disjoint(edges: list[int]) -> list[Span]:
    return [Span(*edges[at : at + 2]) for at in range(0, len(edges) - 1, 2)]


@given(EDGES.map(disjoint), st.integers(-9, 9), st.integers(-9, 9))
def test_spans_are_a_sequence(pairs: list[Span], first: int, last: int) -> None:
    spans = Spans(pairs)
    assert spans == pairs
    assert len(spans) == len(pairs)
    assert list(spans) == [spans[at] for at in range(len(spans))]
    assert spans[first:last] == pairs[first:last]
    with pytest.raises(ValueError, match="no step"):
        spans[::2]
    if -len(pairs) <= first < len(pairs):
        assert spans[first] == pairs[first]
    else:
        with pytest.raises(IndexError):
            spans[first]
    spans.append(Span(50, 51))
    spans.extend_last(52)
    assert spans == [*pairs, (50, 52)]


@given(EDGES.map(disjoint), EDGES.map(disjoint))
def test_spans_apart_from_others(spans: list[Span], others: list[Span]) -> None:
    assert apart(spans, others) == [
        span
        for span in spans
        if not any(span.start < other.end and other.start < span.end for other in others)
    ]


def test_an_empty_span_is_replaced() -> None:
    assert replace("the cat", [Span(0, 0), Span(7, 7)], ["«", "»"]) == "«the cat»"
    assert replace("a\r\nb\r", [Span(1, 2)], ["\r"]) == "a\r\nb\r"


def test_spans_within_another() -> None:
    spans = [Span(0, 2), Span(3, 5), Span(7, 9)]
    assert within(spans, Span(2, 7)) == [Span(3, 5)]
    assert within(spans, Span(0, 8)) == spans
    assert within([], Span(0, 8)) == []
