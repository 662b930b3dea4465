"""What the model reads in place of placeholders: forms that it copies, checked afterwards.

A Transformer spells `{{count}}` or a URL piece by piece and loses a piece now and then. Short
forms that it met in training it copies far more often; what still goes wrong is seen, since every
stand-in has to be in the translation exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice

from app.placeholders import find_placeholders
from app.spans import Span, Substitution, replace

_IDENTIFIERS = (
    "name", "user", "count", "date", "city", "id", "email", "title", "file", "value", "link",
    "total", "index", "amount",
)  # fmt: skip


def variables() -> Iterator[str]:
    """`{name}`, `{user}`, …: in the place of a variable a name or a number may stand."""
    yield from (f"{{{identifier}}}" for identifier in _IDENTIFIERS)
    yield from (f"{{x{n}}}" for n in count(1))


def numbers() -> Iterator[str]:
    """4817, 5926, …: copied more often still, but the words around agree with a number."""
    return map(str, count(4817, 1109))


FAMILIES: tuple[Callable[[], Iterator[str]], ...] = (variables, numbers)
"""To be tried one after the other; docs/architecture.md says how often each is kept."""


class StandIns:
    """A sentence with each of its placeholders replaced by a stand-in: `text`.

    `substitution` leads from the sentence to `text`. A number that the sentence has is not taken.
    """

    def __init__(
        self, sentence: str, placeholders: Sequence[Span], family: Callable[[], Iterator[str]]
    ) -> None:
        self.substitution = Substitution(sentence, [], [])
        self._stand_ins: list[str] = []
        if not placeholders:
            return
        self._originals = [span.of(sentence) for span in placeholders]
        rest = replace(sentence, placeholders, [" "] * len(placeholders))
        self._n_braces = sum(map(rest.count, "{}"))
        taken = set(re.findall(r"\d+", rest))
        free = (stand_in for stand_in in family() if stand_in not in taken)
        self._stand_ins = list(islice(free, len(placeholders)))
        self._attached = [
            (_joins(sentence, span.start - 1), _joins(sentence, span.end)) for span in placeholders
        ]
        self.substitution = Substitution(sentence, placeholders, self._stand_ins)

    @property
    def text(self) -> str:
        """What the model is to read."""
        return self.substitution.after

    def put_back(self, translation: str) -> Substitution | None:
        """The translation with the placeholders again, or None if it does not have each once.

        A placeholder that stood apart may not have come to touch a letter or digit, and there may
        be none, nor a brace of one, that the sentence does not have.
        """
        if not self._stand_ins:
            return Substitution(translation, [], [])
        found: list[tuple[Span, str]] = []
        for stand_in, original, (before, behind) in zip(
            self._stand_ins, self._originals, self._attached, strict=True
        ):
            start = translation.find(stand_in)
            end = start + len(stand_in)
            if (
                translation.count(stand_in) != 1
                or (_joins(translation, start - 1) and not before)
                or (_joins(translation, end) and not behind)
            ):
                return None
            found.append((Span(start, end), original))
        found.sort()
        spans = [span for span, _ in found]
        rest = replace(translation, spans, [" "] * len(spans))
        if find_placeholders(rest) or sum(map(rest.count, "{}")) > self._n_braces:
            return None
        return Substitution(translation, spans, [original for _, original in found])


def _joins(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isalnum()
