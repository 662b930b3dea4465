"""Spans of a text, and their replacement."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Code points start … end of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the covered text."""
        return text[self.start : self.end]

    def shifted(self, by: int) -> Span:
        """Return the span shifted by `by` code points."""
        return Span(self.start + by, self.end + by)


def within(spans: Sequence[Span], whole: Span) -> list[Span]:
    """Return those of the ordered, disjoint spans that begin in `whole`."""
    first = bisect_left(spans, whole.start, key=lambda span: span.start)
    last = bisect_left(spans, whole.end, key=lambda span: span.start)
    return list(spans[first:last])


def clipped(spans: Sequence[Span], whole: Span) -> list[Span]:
    """Return the parts of the ordered, disjoint spans that lie in `whole`."""
    first = bisect_right(spans, whole.start, key=lambda span: span.end)
    last = bisect_left(spans, whole.end, key=lambda span: span.start)
    return [
        Span(max(span.start, whole.start), min(span.end, whole.end)) for span in spans[first:last]
    ]


class Substitution:
    """The text `before` with ordered, disjoint spans replaced: `after`.

    `places` are the spans of the replacements in `after`.
    """

    __slots__ = ("after", "before", "places", "spans")

    def __init__(self, before: str, spans: Sequence[Span], replacements: Sequence[str]) -> None:
        self.before = before
        self.spans = list(spans)
        self.places: list[Span] = []
        parts: list[str] = []
        at = length = 0
        for span, replacement in zip(spans, replacements, strict=True):
            parts += [before[at : span.start], replacement]
            start = length + span.start - at
            length = start + len(replacement)
            self.places.append(Span(start, length))
            at = span.end
        self.after = "".join([*parts, before[at:]])

    @property
    def rest(self) -> str:
        """Return `before` with a space for each span."""
        if not self.spans:
            return self.before
        return replace(self.before, self.spans, [" "] * len(self.spans))

    def place_of(self, span: Span) -> Span:
        """Map a span of `before` to `after`; it includes any replacement that it touches."""
        return _mapped(span, self.spans, self.places)

    def origin_of(self, span: Span) -> Span:
        """Map a span of `after` to `before`; it includes any replaced span that it touches."""
        return _mapped(span, self.places, self.spans)


def replace(text: str, spans: Sequence[Span], replacements: Sequence[str]) -> str:
    """Replace ordered, disjoint spans of a text."""
    return Substitution(text, spans, replacements).after if spans else text


def _mapped(span: Span, there: Sequence[Span], here: Sequence[Span]) -> Span:
    before = bisect_right(there, span.start, key=lambda one: one.start) - 1
    start, end = span
    if before >= 0:
        inside = span.start < there[before].end
        start = here[before].start if inside else span.start + here[before].end - there[before].end
    if span.start == span.end:
        return Span(start, start)
    before = bisect_left(there, span.end, key=lambda one: one.start) - 1
    if before >= 0:
        inside = span.end <= there[before].end
        end = here[before].end if inside else span.end + here[before].end - there[before].end
    return Span(start, end)
