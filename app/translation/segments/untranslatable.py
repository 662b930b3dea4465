"""Finds what a model must not be given: placeholders, emoji, symbols, unknown characters.

Each is replaced by a stand-in (`app.text.stand_ins`) and restored afterwards. A word with a letter
that the vocabulary lacks is replaced as a whole, since its remainder is meaningless.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.concurrency.threads import check_abandoned
from app.text.scripts import UNSPACED
from app.text.spans import Span, Spans, apart, united
from model.text.unknown_characters import UnknownCharacters

_PICTURE = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_TINTS = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\u20e3\U000e0020-\U000e007f"
_SYMBOL = (
    "\u2190-\u21ff\u2300-\u23ff\u2460-\u27ff\u2800-\u2bff\ue000-\uf8ff\ufff0-\ufffd"
    "\U0001f000-\U0001faff\U000f0000-\U0010ffff"
)
_RAISED = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u215f\u2189"
_SYMBOLS = re.compile(
    rf"""
      [{_PICTURE}][{_TINTS}]*(?:\u200d[{_PICTURE}\u2640\u2642][{_TINTS}]*)*+  # an emoji
    | [0-9\#*]\ufe0f?\u20e3                                                 # a keycap
    | [^\w\s]\ufe0f[{_TINTS}]*                                              # shown as an emoji
    | [^\W_]{{0,3}}[{_RAISED}]+[^\W_]{{0,2}}                                 # m², CO₂, 5½
    | [{_SYMBOL}]
    """,
    re.VERBOSE,
)
_MAY_BE_SYMBOL = re.compile(rf"[{_PICTURE}\ufe0f\u20e3{_RAISED}{_SYMBOL}]")
"""Matches a character of every match of `_SYMBOLS`."""

_AMOUNT = re.compile(r".{0,2}[¥₹₽₩₺₴₫₪₱฿][ \u00a0]?\d|.?\d[ \u00a0]?[¥₹₽₩₺₴₫₪₱฿]")
"""A currency sign beside a number."""

_MODIFIERS = "\ufe0e\ufe0f🏻🏼🏽🏾🏿"
_FOREIGN_JOINT = re.compile(r"[ \t,;:'’/-]{0,3}")


@dataclass(frozen=True, slots=True)
class Untranslatable:
    """The spans of a text that are replaced by stand-ins, in order and disjoint.

    spans    all of them
    masked   those hidden from segmentation, which strips the others from the ends of segments
    foreign  words that the model cannot read
    """

    spans: Sequence[Span] = ()
    masked: Sequence[Span] = ()
    foreign: Sequence[Span] = ()


def find_untranslatable(
    text: str, unknown: UnknownCharacters, placeholders: Spans, terms: Spans
) -> Untranslatable:
    """Return what a model with these unknown characters must not be given, except terms."""
    symbols = apart(_symbols(text), terms) if _may_have_symbols(text) else ()
    if not symbols and unknown.knows(text):
        return Untranslatable(placeholders, placeholders)
    lacking = Spans(unknown.spans(text))
    foreign = united(text, apart(_words(text, lacking), terms), joint=_FOREIGN_JOINT)
    if not symbols and not foreign:
        return Untranslatable(placeholders, placeholders)
    spans = united(text, placeholders, symbols, foreign)
    masked = Spans(span for span in spans if not _is_stripped(span.of(text)))
    return Untranslatable(spans, masked, foreign)


def _may_have_symbols(text: str) -> bool:
    return not text.isascii() and _MAY_BE_SYMBOL.search(text) is not None


def _symbols(text: str) -> Iterator[Span]:
    for match in _SYMBOLS.finditer(text):
        yield Span(*match.span())


def _words(text: str, lacking: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Yield the words around unknown letters, and other unknown characters by themselves."""
    at = 0
    for first, last in lacking:
        check_abandoned()
        if last <= at or not any(map(_is_lifted, text[first:last])):
            continue
        if _AMOUNT.match(text, max(first - 2, 0), last + 2):  # which may be written anew
            continue
        start, end = max(first, at), last
        if any(map(str.isalnum, text[start:end])):
            while start > at and _is_in_word(text[start - 1]):
                start -= 1
            while end < len(text) and _is_in_word(text[end]):
                end += 1
        yield Span(start, end)
        at = end


def _is_lifted(character: str) -> bool:
    """Whether an unknown character is replaced: not a mark, a joiner or punctuation."""
    return unicodedata.category(character)[0] in "LNS"


def _is_in_word(character: str) -> bool:
    if UNSPACED.match(character):
        return False
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _is_stripped(covered: str) -> bool:
    """Whether segmentation strips it from the ends of a segment."""
    return all(
        one.isspace() or one in _MODIFIERS or unicodedata.category(one) in ("So", "Cf")
        for one in covered
    )
