"""Places inline tags in a translation around the words linked to those they enclosed.

Every element is placed once, within its parent and disjoint from its siblings, so the result is
well-formed for any links.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.concurrency.threads import check_abandoned
from app.text.linked_words import LinkedWords
from app.text.spans import Span


@dataclass(eq=False, slots=True)
class Element:
    """An inline element, by its span in the text without tags.

    opening, closing  raw tags; an element without content has an empty span, and a comment or a
                      void tag has no closing tag
    """

    opening: str
    closing: str
    span: Span
    children: Sequence[Element] = ()

    def add(self, child: Element) -> None:
        if isinstance(self.children, list):
            self.children.append(child)
        else:  # most elements have none, and an empty list takes as much as the element
            self.children = [child]


class Written(NamedTuple):
    """A translation, and how it is written.

    masked  its characters, some replaced by marks
    escape  returns a part of `masked` as markup
    """

    translation: str
    masked: str
    escape: Callable[[str], str]


def put_tags(root: Element, text: str, written: Written, linked: LinkedWords) -> str:
    """Return the translation with the tags of `root` and its descendants, by its linked words."""
    placement = _Placement(text, written, linked)
    placement.spans[root] = Span(0, len(written.translation))
    placement.place(root, 0, len(linked))
    return "".join(placement.written(root))


class _Placement:
    """Assigns ranges of the translation's words to elements, and then their `spans` in it."""

    def __init__(self, text: str, written: Written, linked: LinkedWords) -> None:
        self._text = text
        self._translation, self._masked, self._escape = written
        self.linked = linked
        self.spans: dict[Element, Span] = {}

    def place(self, parent: Element, first: int, last: int) -> None:
        """Place the children of `parent`, which has the words first … last."""
        check_abandoned()
        holding = [child for child in parent.children if child.span.of(self._text).strip()]
        ranges = self._ranges(parent, holding, first, last)
        for child, (start, end) in ranges.items():
            self.spans[child] = self._span_of(child, start, end - 1, self.spans[parent])
            self.place(child, start, end)
        if len(ranges) == len(parent.children):
            return
        taken = sorted(ranges.values())
        points = self.linked.points(first, last)
        for child in parent.children:
            if child not in self.spans:
                # After the words linked to the nearest word before, but not inside a sibling.
                point = points.after(child.span.start, first)
                around = bisect_left(taken, point, key=lambda pair: pair[0]) - 1
                if around >= 0:
                    point = max(point, taken[around][1])
                start = self.linked.word(first).start if first < last else 0
                at = start if point == first else self.linked.word(point - 1).end
                at = min(max(at, self.spans[parent].start), self.spans[parent].end)
                self._place_at(child, at)

    def written(self, element: Element) -> Iterator[str]:
        """Yield the element with its tags and content."""
        at, end = self.spans[element]
        yield element.opening
        for child in sorted(element.children, key=self.spans.__getitem__):
            yield self._escape(self._masked[at : self.spans[child].start])
            yield from self.written(child)
            at = self.spans[child].end
        yield self._escape(self._masked[at:end])
        yield element.closing

    def _place_at(self, element: Element, at: int) -> None:
        """Place an element and its descendants, all of them empty."""
        self.spans[element] = Span(at, at)
        for child in element.children:
            self._place_at(child, at)

    def _span_of(self, child: Element, first: int, last: int, within: Span) -> Span:
        """Return the span of words first … last; of a copied word, only the element's part: the 2
        of "m2" if only that is superscript."""
        start, end = self.linked.word(first).start, self.linked.word(last).end
        for source in self._copied(first):
            if source.start < child.span.start < source.end:
                start = self.linked.word(first).start + child.span.start - source.start
        for source in self._copied(last):
            if source.start < child.span.end < source.end:
                end = self.linked.word(last).start + child.span.end - source.start
        start = min(max(start, within.start), within.end)
        return Span(start, min(max(start, end), within.end))

    def _copied(self, index: int) -> Iterator[Span]:
        """Yield the linked words of the text that are equal, ignoring case."""
        word = self.linked.word(index).of(self._translation)
        for source in self.linked.sources(index):
            read = source.of(self._text)
            if len(read) == len(word) and read.casefold() == word.casefold():
                yield source

    def _ranges(
        self, parent: Element, holding: Sequence[Element], first: int, last: int
    ) -> dict[Element, tuple[int, int]]:
        """Return each element's range from its first to its last word; if words of another element
        interrupt it, the longest part. An element with all of its parent's text keeps all words."""
        if first < last and len(holding) == 1:
            [child] = holding
            if child.span.of(self._text).strip() == parent.span.of(self._text).strip():
                return {child: (first, last)}
        best: dict[Element, tuple[int, int]] = {}
        current: Element | None = None
        start = 0
        for index in range(first, last):
            owner = self._owner(index, holding)
            if owner is None:
                continue
            if owner is not current:
                current, start = owner, index
            longest = best.get(owner, (0, 0))
            if index + 1 - start > longest[1] - longest[0]:
                best[owner] = (start, index + 1)
        taken = bytearray(last - first)
        for start, end in best.values():
            taken[start - first : end - first] = bytes([True]) * (end - start)
        for child in holding:
            if child not in best:
                guesses = (at for at in self.linked.guessed(child.span) if first <= at < last)
                if (at := next((at for at in guesses if not taken[at - first]), None)) is not None:
                    best[child] = (at, at + 1)
                    taken[at - first] = True
        return best

    def _owner(self, index: int, elements: Sequence[Element]) -> Element | None:
        """Return the element, of ordered, disjoint ones, with most of the links of a word."""
        shares: Counter[Element] = Counter()
        for source in self.linked.sources(index):
            at = bisect_right(elements, source.start, key=lambda element: element.span.end)
            while at < len(elements) and elements[at].span.start < source.end:
                start, end = elements[at].span
                shares[elements[at]] += min(source.end, end) - max(source.start, start)
                at += 1
        return max(shares, key=shares.__getitem__, default=None)
