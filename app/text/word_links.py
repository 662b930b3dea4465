"""Links between the words of a text and those of its translation."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from app.text.spans import Span


class WordLink(NamedTuple):
    """A link between a word of the text and one of its translation, by their spans.

    A guess is the most likely link of a word without one.
    """

    source: Span
    target: Span
    is_guess: bool = False

    def shifted(self, source: int, target: int) -> WordLink:
        return WordLink(self.source.shifted(source), self.target.shifted(target), self.is_guess)


_N_BOUNDS = 4


class WordLinks(Sequence[WordLink]):
    """Links in 17 bytes each, instead of 340 as tuples: a text may have half a million."""

    __slots__ = ("_are_guesses", "_bounds")

    def __init__(self, links: Iterable[WordLink] = ()) -> None:
        self._bounds = array("I")
        self._are_guesses = bytearray()
        for source, target, is_guess in links:
            self._bounds.extend((*source, *target))
            self._are_guesses.append(is_guess)

    def __len__(self) -> int:
        return len(self._are_guesses)

    def __iter__(self) -> Iterator[WordLink]:
        return map(self.__getitem__, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> WordLink: ...

    @overload
    def __getitem__(self, index: slice) -> list[WordLink]: ...

    def __getitem__(self, index: int | slice) -> WordLink | list[WordLink]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        is_guess = bool(self._are_guesses[index])
        first = range(len(self))[index] * _N_BOUNDS
        start, end, target_start, target_end = self._bounds[first : first + _N_BOUNDS]
        return WordLink(Span(start, end), Span(target_start, target_end), is_guess)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def bounds(self, *, guesses: bool) -> NDArray[np.uint32]:
        """Return the bounds of guesses, or of other links, in text and translation: [links, 4]."""
        bounds = np.frombuffer(self._bounds, np.uint32).reshape(-1, _N_BOUNDS)
        found: NDArray[np.uint32] = bounds[np.frombuffer(self._are_guesses, np.bool_) == guesses]
        return found


def joined_links(to_pivot: Sequence[WordLink], from_pivot: Sequence[WordLink]) -> WordLinks:
    """Link the words of source and target that are linked to the same word of the pivot."""
    onwards: dict[Span, list[int]] = {}
    for at, link in enumerate(from_pivot):
        onwards.setdefault(link.source, []).append(at)
    return WordLinks(
        WordLink(there.source, on.target, there.is_guess or on.is_guess)
        for there in to_pivot
        for on in map(from_pivot.__getitem__, onwards.get(there.target, ()))
    )
