"""Spans of a text, and their replacement."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from io import StringIO
from itertools import chain
from typing import NamedTuple, overload

_BLANK = re.compile(r"[ \t]?")


class Span(NamedTuple):
    """Code points start … end of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]

    def shifted(self, by: int) -> Span:
        return Span(self.start + by, self.end + by)


class Spans(Sequence[Span]):
    """Spans in 8 bytes each, instead of 130 as tuples: a text may have half a million."""

    __slots__ = ("_bounds",)

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._bounds = array("I", chain.from_iterable(spans)) if spans else array("I")

    def append(self, span: tuple[int, int]) -> None:
        self._bounds.extend(span)

    def extend_last(self, end: int) -> None:
        self._bounds[-1] = end

    def __len__(self) -> int:
        return len(self._bounds) // 2

    def __iter__(self) -> Iterator[Span]:
        bounds = iter(self._bounds)
        return map(Span, bounds, bounds)

    @overload
    def __getitem__(self, index: int) -> Span: ...

    @overload
    def __getitem__(self, index: slice) -> Spans: ...

    def __getitem__(self, index: int | slice) -> Span | Spans:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError("a slice of spans has no step")
            found = Spans()
            found._bounds = self._bounds[2 * start : 2 * stop]
            return found
        first = 2 * range(len(self))[index]
        return Span(self._bounds[first], self._bounds[first + 1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Spans({list(self)})"


def apart(spans: Iterable[Span], others: Iterable[Span]) -> Spans:
    """Return the spans that overlap none of the others; both are ordered and disjoint."""
    found = Spans()
    there = iter(others)
    other = next(there, None)
    for span in spans:
        while other and other.end <= span.start:
            other = next(there, None)
        if other is None or span.end <= other.start:
            found.append(span)
    return found


def united(text: str, *spans: Iterable[Span], joint: re.Pattern[str] = _BLANK) -> Spans:
    """Return ordered spans as one sequence; those that meet, or have a joint between, as one."""
    found = Spans()
    for span in merge(*spans):
        if found and (
            span.start < found[-1].end or joint.fullmatch(text, found[-1].end, span.start)
        ):
            found.extend_last(max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


def within(spans: Sequence[Span], whole: Span) -> list[Span]:
    """Return the ordered, disjoint spans that start in `whole`."""
    first = bisect_left(spans, whole.start, key=lambda span: span.start)
    last = bisect_left(spans, whole.end, key=lambda span: span.start)
    return list(spans[first:last])


def clipped(spans: Sequence[Span], whole: Span) -> list[Span]:
    """Return the parts of the ordered, disjoint spans that lie in `whole`."""
    if not spans:
        return []
    first = bisect_right(spans, whole.start, key=lambda span: span.end)
    last = bisect_left(spans, whole.end, key=lambda span: span.start)
    return [
        Span(max(span.start, whole.start), min(span.end, whole.end)) for span in spans[first:last]
    ]


class Substitution:
    """The text `before` with ordered, disjoint spans replaced: `after`.

    `positions` are the spans of the replacements in `after`.
    """

    __slots__ = ("after", "before", "positions", "spans")

    def __init__(self, before: str, spans: Sequence[Span], replacements: Sequence[str]) -> None:
        self.before = before
        self.spans = spans
        self.positions: Sequence[Span] = ()
        self.after = before
        if spans:
            self.after = replace(before, spans, replacements)
            self.positions = _positions(spans, replacements)

    @property
    def rest(self) -> str:
        """`before` with a space for each span."""
        if not self.spans:
            return self.before
        return replace(self.before, self.spans, [" "] * len(self.spans))

    def position_of(self, span: Span) -> Span:
        """Map a span of `before` to `after`; it includes any replacement that it touches."""
        return _mapped(span, self.spans, self.positions)

    def origin_of(self, span: Span) -> Span:
        """Map a span of `after` to `before`; it includes any replaced span that it touches."""
        return _mapped(span, self.positions, self.spans)


def replace(text: str, spans: Iterable[Span], replacements: Iterable[str]) -> str:
    """Replace ordered, disjoint spans of a text."""
    replaced = StringIO()
    at = 0
    for span, replacement in zip(spans, replacements, strict=True):
        replaced.write(text[at : span.start])
        replaced.write(replacement)
        at = span.end
    replaced.write(text[at:])
    return replaced.getvalue()


def _positions(spans: Sequence[Span], replacements: Sequence[str]) -> list[Span]:
    positions: list[Span] = []
    growth = 0
    for (start, end), replacement in zip(spans, replacements, strict=True):
        positions.append(Span(start + growth, start + growth + len(replacement)))
        growth += len(replacement) - (end - start)
    return positions


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
