"""Stand-ins: forms that replace placeholders in the model's input and are copied reliably.

They may also replace numbers and terms with a known translation. A Transformer copies `{{count}}`
or a URL piece by piece and sometimes loses a piece. It copies short forms known from training far
more reliably; errors are detected, since a translation must have each stand-in exactly once.

A space is inserted between a tag and an adjacent word, and removed from the translation: to a
tokenizer, `{name}bold` would be an unknown word, which the model spells unpredictably.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from operator import gt

from app.text.elision import elisions
from app.text.placeholders import find_placeholders
from app.text.spans import Span, Substitution, replace
from model.text.language_codes import primary_language

_FULL_STOP = re.compile(r"\.{1,2}(?!\.)")
_IDENTIFIERS = (
    "name", "user", "count", "date", "city", "id", "email", "title", "file", "value", "link",
    "total", "index", "amount",
)  # fmt: skip


def variables() -> Iterator[str]:
    """`{name}`, `{user}`, …: replace a variable, which may be a name or a number."""
    yield from (f"{{{identifier}}}" for identifier in _IDENTIFIERS)
    yield from (f"{{x{n}}}" for n in count(1))


def numbers() -> Iterator[str]:
    """4817, 5926, …: copied even more reliably, but surrounding words agree with a number."""
    return map(str, count(4817, 1109))


FAMILIES: tuple[Callable[[], Iterator[str]], ...] = (variables, numbers)
"""Tried in this order; docs/benchmarks.md has the success rate of each."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A span with a known translation, which replaces its stand-in: a number, a glossary's term.

    may_be_capital  at the start of a translation, it starts with a capital if the sentence does
    """

    span: Span
    target: str
    may_be_capital: bool = False


@dataclass(frozen=True, slots=True)
class _Lifted:
    """A lifted span with its stand-in, and the `target` that replaces the stand-in.

    attached  whether the span was adjacent to a letter or digit, at either side
    apart     whether it was a tag there, so that the adjacent text is a separate word
    """

    original: str
    target: str
    may_be_capital: bool
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

    def restored(self, at: int) -> str:
        """Return the target for this position of the translation."""
        if at or not self.may_be_capital:
            return self.target
        return self.target[:1].upper() + self.target[1:]

    def span_in(self, translation: str) -> Span | None:
        """Return the span of the stand-in with its inserted spaces, or None if it was lost."""
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
    """A sentence with placeholders, and other spans with known translations, replaced: `text`.

    `substitution` maps the sentence to `text`, and `rest` is the sentence with a space for each
    placeholder. Numbers in the sentence are not used as stand-ins. The spans are disjoint.
    """

    __slots__ = ("_lifted", "_n_braces", "_opaque", "rest", "substitution")  # 50,000 in a text

    def __init__(
        self,
        sentence: str,
        placeholders: Sequence[Span],
        family: Callable[[], Iterator[str]],
        translated: Sequence[Translated] = (),
    ) -> None:
        self.substitution = Substitution(sentence, [], [])
        self.rest = sentence
        self._lifted: Sequence[_Lifted] = ()
        self._opaque = set[str]()
        if not placeholders and not translated:
            return
        self.rest = replace(sentence, placeholders, [" "] * len(placeholders))
        known = {one.span: one for one in translated}
        spans = sorted([*placeholders, *known])
        rest = replace(sentence, spans, [" "] * len(spans))
        self._n_braces = sum(map(rest.count, "{}"))
        taken = set(re.findall(r"\d+", rest))
        free = (stand_in for stand_in in family() if stand_in not in taken)
        starts_with_capital = next((one for one in sentence if one.isalnum()), "").isupper()
        self._lifted = lifted = list[_Lifted]()
        for span, stand_in in zip(spans, free, strict=False):
            one = known.get(span)
            original = span.of(sentence)
            lifted.append(
                _Lifted(
                    original,
                    original if one is None else one.target,
                    one is not None and one.may_be_capital and starts_with_capital,
                    stand_in,
                    (_joins(sentence, span.start - 1), _joins(sentence, span.end)),
                )
            )
            if one is None:
                self._opaque.add(stand_in)
        self.substitution = Substitution(sentence, spans, [one.read for one in lifted])

    @property
    def text(self) -> str:
        return self.substitution.after

    def restore(
        self, translation: str, language: str = "", terms: Sequence[str] = ()
    ) -> Substitution | None:
        """Replace the stand-ins in a translation by their targets; None if it is not valid.

        A valid translation has each stand-in once and no other placeholder or part of one, and a
        placeholder is adjacent to a letter or digit only if it was in the source. A full stop is
        written once, and French words are elided before targets and the given terms.
        """
        found: list[tuple[Span, str]] = []
        for lifted in self._lifted:
            span = lifted.span_in(translation)
            if span is None:
                return None
            target = lifted.restored(span.start)
            if target[-1:] == "." and (stop := _FULL_STOP.match(translation, span.end)):
                span = Span(span.start, stop.end())
            found.append((span, target))
        if primary_language(language) == "fr":
            words = [(span.start, target) for span, target in found]
            words += [(translation.find(term), term) for term in terms if term in translation]
            found += elisions(translation, words)
        if not found:
            return Substitution(translation, [], [])
        found.sort()
        restored = Substitution(translation, *zip(*found, strict=True))
        if not self._lifted:
            return restored
        if find_placeholders(restored.rest) or sum(map(restored.rest.count, "{}")) > self._n_braces:
            return None
        return restored

    def rest_of(self, restored: Substitution) -> str:
        """Return a restored translation with a space for each placeholder."""
        before, after = restored.before, restored.after
        replacements = [
            " " if span.of(before).strip() in self._opaque else place.of(after)
            for span, place in zip(restored.spans, restored.positions, strict=True)
        ]
        return replace(before, restored.spans, replacements) if replacements else after


def _joins(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isalnum()
