"""Where the facts of a translation differ from those of its source, to show and to flag it."""

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from app.text.cldr import month_names
from app.text.facts.compared import FactFault, fact_faults, may_have_facts
from app.text.facts.kept import find_kept
from app.text.facts.quantities.number_words import spelt_out
from app.text.facts.quantities.units import scale_at, unit_at
from app.text.placeholders import find_placeholders
from app.text.spans import Span, united
from app.translation.segments.names import lost_names

MAX_PLACES = 8
MAX_CHARACTERS = 1000
"""Maximum places on a side, and code points, that are compared one by one."""

_PLACE = re.compile(
    r"\w*\d(?:[\w.,:/'’-]*\w)?(?:[ \u00a0\u202f]\d(?:[\w.,:/'’-]*\w)?)*"
    r"(?:[ \u00a0\u202f]?(?:[ap]\.m\.|[ap]m\b|h\b|heures?\b|o['’]clock|[$€£¥%°]\w?|BC\b|AD\b"
    r"|av\. J\.-C\.))?"
    r"|(?<!\w)[IVXLC]{1,8}(?:st|nd|rd|th|e|er|[eè]me)?(?!\w)|[$€£¥](?=\d)",
    re.IGNORECASE,
)
"""Digits with what belongs to them, and Roman numerals."""


class Difference(NamedTuple):
    """Spans of a text and of its translation that say other things; one side may be empty."""

    flag: FactFault
    source: list[Span]
    target: list[Span]


def lost_facts(source: str, translation: str, languages: tuple[str, str]) -> list[FactFault]:
    """Return the flags of a translation for a text that was translated by way of a pivot."""
    if not may_have_facts(source, languages[0]):
        return []
    spans = united(source, find_placeholders(source), find_kept(source, languages[0]))
    copied = [text for span in spans if (text := span.of(source)) in translation]
    return [*fact_faults(_without(source, copied), _without(translation, copied), languages)]


def differences(
    source: str,
    translation: str,
    languages: tuple[str, str],
    copied: Iterable[str] = (),
    names: Sequence[str] = (),
) -> list[Difference]:
    """Return the places of the faults of a sentence, without the text that is `copied`.

    A place is one without which the fault would not be, of either text or of both. If there is
    none, all numbers that only one of them has. A lost one of the `names` is one, too.
    """
    copied = list(copied)
    source, translation = _without(source, copied), _without(translation, copied)
    found = [
        Difference(flag, *_places(flag, source, translation, languages))
        for flag in fact_faults(source, translation, languages)
    ]
    starts = [(source.find(name), name) for name in lost_names(names, translation)]
    if lost := [Span(start, start + len(name)) for start, name in starts if start >= 0]:
        found.append(Difference("facts", lost, []))
    return found


def _without(text: str, copied: Iterable[str]) -> str:
    """Blank the copied parts; positions stay."""
    for part in copied:
        text = text.replace(part, " " * len(part))
    return text


def _places(
    flag: FactFault, source: str, translation: str, languages: tuple[str, str]
) -> tuple[list[Span], list[Span]]:
    read = _candidates(source, languages[0])
    written = _candidates(translation, languages[-1])
    here = {span: _fact(span.of(source), languages[0]) for span in read}
    there = {span: _fact(span.of(translation), languages[-1]) for span in written}
    is_short = len(source) + len(translation) <= MAX_CHARACTERS
    if is_short and max(len(read), len(written)) <= MAX_PLACES:
        alone = [([one], list[Span]()) for one in read] + [([], [one]) for one in written]
        both = [([one], [other]) for one, other in product(read, written)]
        for ours, theirs in (*alone, *both):
            rest = _blank(source, ours), _blank(translation, theirs)
            if flag not in fact_faults(*rest, languages):
                # The translation may have the same number, with another unit.
                facts = [here[span] for span in ours]
                alike = [span for span, fact in there.items() if [fact] == facts]
                return ours, theirs or alike[:1]
    lost = [span for span, fact in here.items() if fact not in there.values()]
    added = [span for span, fact in there.items() if fact not in here.values()]
    return (lost, added) if lost or added else (read, written)


def _candidates(text: str, language: str) -> list[Span]:
    """Return where a text may have facts, in order and disjoint."""
    found = [_with_unit(text, Span(*match.span()), language) for match in _PLACE.finditer(text)]
    found += [Span(one.start, one.end) for one in spelt_out(text, language)]
    if found:
        months = month_names(language)
        words = re.finditer(r"[^\W\d_]+", text)
        found += [Span(*word.span()) for word in words if word[0].lower() in months]
    return list(united(text, *([span] for span in sorted(found))))


def _with_unit(text: str, span: Span, language: str) -> Span:
    scale = scale_at(text, span.end, language, is_money=False)
    end = scale.end if scale else span.end
    unit = unit_at(text, end, language)
    return Span(span.start, unit.end if unit else end)


def _fact(place: str, language: str) -> str:
    """Return what identifies a place: its digits, else the numbers in words, else its words."""
    values = "".join(str(one.value) for one in spelt_out(place, language))
    return re.sub(r"\D", "", place) or values or place


def _blank(text: str, spans: Iterable[Span]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
