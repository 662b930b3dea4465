"""What the model reads in place of placeholders: forms that it copies, checked afterwards.

A Transformer spells `{{count}}` or a URL piece by piece and loses a piece now and then. Short
forms that it met in training it copies far more often; what still goes wrong is seen, since every
stand-in has to be in the translation exactly once.

Between a tag and a word that it touches the model reads a blank, and the translation loses it
again: to a tokenizer `{name}bold` is a word of its own, which the model spells anyhow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from operator import gt

from app.text.placeholders import find_placeholders
from app.text.spans import Span, Substitution, replace

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
"""To be tried one after the other; docs/benchmarks.md says how often each is kept."""


@dataclass(frozen=True, slots=True)
class _Lifted:
    """A placeholder, by what was left and right of it, and what stands in for it.

    attached  whether it touched a letter or digit
    apart     whether it was a tag there, so that what it touched is a word by itself
    """

    original: str
    stand_in: str
    attached: tuple[bool, bool]

    @property
    def apart(self) -> tuple[bool, bool]:
        before, behind = self.attached
        return before and self.original[0] == "<", behind and self.original[-1] == ">"

    @property
    def read(self) -> str:
        before, behind = self.apart
        return f"{' ' * before}{self.stand_in}{' ' * behind}"

    def place_in(self, translation: str) -> Span | None:
        """Where the stand-in is, with the blanks that were put beside it; None if it got lost."""
        start = translation.find(self.stand_in)
        end = start + len(self.stand_in)
        touches = _joins(translation, start - 1), _joins(translation, end)
        if translation.count(self.stand_in) != 1 or any(map(gt, touches, self.attached)):
            return None
        before, behind = self.apart
        return Span(
            start - (before and translation[start - 1 : start] == " "),
            end + (behind and translation[end : end + 1] == " "),
        )


class StandIns:
    """A sentence with each of its placeholders replaced by a stand-in: `text`.

    `substitution` leads from the sentence to `text`. A number that the sentence has is not taken.
    """

    def __init__(
        self, sentence: str, placeholders: Sequence[Span], family: Callable[[], Iterator[str]]
    ) -> None:
        self.substitution = Substitution(sentence, [], [])
        self._lifted: list[_Lifted] = []
        if not placeholders:
            return
        rest = replace(sentence, placeholders, [" "] * len(placeholders))
        self._n_braces = sum(map(rest.count, "{}"))
        taken = set(re.findall(r"\d+", rest))
        free = (stand_in for stand_in in family() if stand_in not in taken)
        self._lifted = [
            _Lifted(
                span.of(sentence),
                stand_in,
                (_joins(sentence, span.start - 1), _joins(sentence, span.end)),
            )
            for span, stand_in in zip(placeholders, free, strict=False)
        ]
        self.substitution = Substitution(
            sentence, placeholders, [lifted.read for lifted in self._lifted]
        )

    @property
    def text(self) -> str:
        """What the model is to read."""
        return self.substitution.after

    def put_back(self, translation: str) -> Substitution | None:
        """The translation with the placeholders again, or None if it does not have each once.

        A placeholder that stood apart may not have come to touch a letter or digit, and there may
        be none, nor a brace of one, that the sentence does not have.
        """
        if not self._lifted:
            return Substitution(translation, [], [])
        found: list[tuple[Span, str]] = []
        for lifted in self._lifted:
            place = lifted.place_in(translation)
            if place is None:
                return None
            found.append((place, lifted.original))
        found.sort()
        put_back = Substitution(translation, *zip(*found, strict=True))
        if find_placeholders(put_back.rest) or sum(map(put_back.rest.count, "{}")) > self._n_braces:
            return None
        return put_back


def _joins(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isalnum()
