"""Where inline tags go in a translation: around the words that those they held are linked to.

Every element goes somewhere, once, and lies within its parent and beside its siblings, so that
whatever the links say the result is well-formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from app.placeholders import ATOM
from app.spans import Span
from model.words import words

WordLink: TypeAlias = tuple[Span, Span]
"""A word of the text and one of its translation that belong together, by their places."""


@dataclass(eq=False, slots=True)
class Element:
    """An inline element, by its place in the text without tags.

    opening, closing  as they are written; what has no content has an empty span, and a comment or
                      a void tag no closing
    """

    opening: str
    closing: str
    span: Span
    children: list[Element] = field(default_factory=list)


def proportional_links(text: str, translation: str) -> list[WordLink]:
    """Every word of the translation to that of the text which is as far along: a last resort."""
    read, written = _words(text), _words(translation)
    return [(read[at * len(read) // len(written)], word) for at, word in enumerate(written) if read]


def put_tags(
    root: Element,
    text: str,
    translation: str,
    links: Sequence[WordLink] | None,
    escape: Callable[[str], str],
) -> str:
    """The translation, escaped, with the tags of `root` and all within it.

    Without links, words are linked by how far along they are.
    """
    if links is None:
        links = proportional_links(text, translation)
    placing = _Placing(text, translation, links)
    placing.place(root, 0, len(placing.words))
    placing.places[root] = Span(0, len(translation))
    return "".join(placing.written(root, escape))


class _Placing:
    """Ranges of the translation's words for elements, and then their `places` in it."""

    def __init__(self, text: str, translation: str, links: Sequence[WordLink]) -> None:
        self._text = text
        self._translation = translation
        self.words = _words(translation)
        self.places: dict[Element, Span] = {}
        linked: dict[Span, list[Span]] = {}
        for source, target in links:
            linked.setdefault(Span(*target), []).append(Span(*source))
        self._sources = [linked.get(word, []) for word in self.words]

    def place(self, parent: Element, first: int, last: int) -> None:
        """Place what is in `parent`, which has the words first … last."""
        owners: list[Element | None] = [None] * len(self.words)
        holding = [child for child in parent.children if child.span.of(self._text).strip()]
        for index in range(first, last):
            owners[index] = self._owner(index, holding)
        alone = len(holding) == 1 and (
            holding[0].span.of(self._text).strip() == parent.span.of(self._text).strip()
        )
        ranges: dict[Element, tuple[int, int]] = {}
        for child in holding:
            if alone:
                ranges[child] = (first, last)
            elif run := self._longest_run(owners, child, first, last):
                ranges[child] = run
        for child in parent.children:
            if child in ranges and ranges[child][0] < ranges[child][1]:
                start, end = ranges[child]
                self.places[child] = Span(self.words[start].start, self.words[end - 1].end)
                self.place(child, start, end)
        taken = list(ranges.values())
        for child in parent.children:
            if child not in self.places:
                point = self._point(child, first, last, taken)
                start = self.words[first].start if first < last else 0
                at = start if point == first else self.words[point - 1].end
                for element in _all_of(child):
                    self.places[element] = Span(at, at)

    def written(self, element: Element, escape: Callable[[str], str]) -> Iterator[str]:
        """The element with its tags and all that is in its place."""
        place = self.places[element]
        at = place.start
        yield element.opening
        for child in sorted(element.children, key=lambda child: self.places[child]):
            yield escape(self._translation[at : self.places[child].start])
            yield from self.written(child, escape)
            at = self.places[child].end
        yield escape(self._translation[at : place.end])
        yield element.closing

    def _owner(self, index: int, elements: Sequence[Element]) -> Element | None:
        """Of the elements that hold a word linked to this one, that which holds the most."""
        shares = [
            (sum(_overlap(source, element.span) for source in self._sources[index]), element)
            for element in elements
        ]
        share, owner = max(shares, key=lambda pair: pair[0], default=(0, None))
        return owner if share else None

    def _longest_run(
        self, owners: Sequence[Element | None], child: Element, first: int, last: int
    ) -> tuple[int, int] | None:
        """From the first to the last word that is the child's; of several such rows, since another
        element's words are in between, the longest."""
        runs: list[tuple[int, int]] = []
        for other, group in groupby(
            range(first, last), key=lambda at: owners[at] not in (child, None)
        ):
            mine = [at for at in group if owners[at] is child]
            if not other and mine:
                runs.append((mine[0], mine[-1] + 1))
        return max(runs, key=lambda run: run[1] - run[0], default=None)

    def _point(
        self, child: Element, first: int, last: int, taken: Sequence[tuple[int, int]]
    ) -> int:
        """Between which words: behind what is linked to the nearest word before, else in front."""
        before = [
            (source.end, index + 1)
            for index in range(first, last)
            for source in self._sources[index]
            if source.end <= child.span.start
        ]
        point = max(before)[1] if before else first
        for start, end in taken:
            if start < point < end:
                point = end
        return point


def _all_of(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _all_of(child)


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def _words(text: str) -> list[Span]:
    """The words, an atom being one."""
    masked = ATOM.sub(lambda atom: "x" * len(atom[0]), text)
    return [Span(*word) for word in words(masked)]
