"""Characters outside a vocabulary, which a model cannot read and does not copy reliably."""

import re
from collections.abc import Iterator

from model.text.text_codec import TextCodec

_WORD = re.compile(r"\S{1,200}")
MAX_REMEMBERED = 20_000
"""Characters per codec; with more scripts than that in use, they are looked up again."""


class UnknownCharacters:
    """Finds what a codec spells in bytes or as `<unk>`.

    Characters are remembered, so that a text without new or unknown ones is not tokenised for it.
    """

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec
        self._known: set[str] = set()
        self._unknown: set[str] = set()

    def knows(self, text: str) -> bool:
        """Whether all characters of a text are remembered as known to the codec."""
        return self._known.issuperset(text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the unknown characters, in order; adjacent ones are one span.

        A character is unknown if the codec knows it neither alone nor in its word, as some are
        known only within longer pieces. One that normalisation removes is not unknown.
        """
        if self.knows(text):
            return
        unknown = self._unknown_in(text)
        if not unknown:
            return
        start = end = 0
        for word in _WORD.finditer(text):
            if unknown.isdisjoint(word[0]):
                continue
            for token in self._codec.tokenize(word[0]):
                first, last = token.start + word.start(), token.end + word.start()
                is_unknown = self._codec.is_unknown(token.id)
                if not is_unknown or unknown.isdisjoint(text[first:last]):
                    continue
                if start < end < first:
                    yield start, end
                    start, end = first, last
                elif start < end:
                    end = max(end, last)
                else:
                    start, end = first, last
        if start < end:
            yield start, end

    def _unknown_in(self, text: str) -> set[str]:
        """Return the characters of a text that the codec does not know alone in either case."""
        if len(self._known) + len(self._unknown) > MAX_REMEMBERED:
            self._known.clear()
            self._unknown.clear()
        characters = set(text)
        for character in characters - self._known - self._unknown:
            lacks = self._lacks(character) and self._lacks(character.swapcase())
            (self._unknown if lacks else self._known).add(character)
        return characters & self._unknown

    def _lacks(self, character: str) -> bool:
        return any(self._codec.is_unknown(token.id) for token in self._codec.tokenize(character))
