"""Relations of numbers: one in ten, 8 out of 10, 20 by 35 metres, up to 5,000, down by 12 %.

The words are those of English and French.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from app.text.cldr import SPACES
from app.text.facts.quantities.number_words import spelt_out
from app.text.facts.quantities.units import unit_at
from app.text.facts.ranks import ordinals_in_words
from model.text.language_codes import primary_language

_NOUN = rf"(?:[^\W\d_][\w'’-]*[{SPACES}]){{0,2}}?"
_LINKS = {
    "en": re.compile(rf"[{SPACES}]{_NOUN}(?P<link>out of|in|by)(?: every)?[{SPACES}]"),
    "fr": re.compile(rf"[{SPACES}]{_NOUN}(?P<link>sur)[{SPACES}]"),
}
_WRITTEN = {
    "en": re.compile(r"(?:\b(?:in|of|per|every|each)[ ]|/|-in-)$"),
    "fr": re.compile(rf"(?:\b(?:sur|pour|contre)[{SPACES}]|/)$"),
}
"""Words before the whole of a ratio. French `pour` also stands in percentages."""

_SIDES = {
    "en": ("by", re.compile(r"(?:\bby|x|×)[ ]?$")),
    "fr": ("sur", re.compile(rf"(?:\bsur|\bpar|x|×)[{SPACES}]?$")),
}
"""The word before the second of two lengths, and what else may be there."""

_OTHERWISE = re.compile(r"%|per ?cent|pour cent|\bhalf\b|moitié|\bdemi|\bother\b", re.IGNORECASE)
_DIGITS = re.compile(
    rf"(?<![\w.,/-])(?:\d{{1,3}}(?:[,{SPACES}]\d{{3}})+|\d+(?:[.,]\d{{1,2}})?)"
    r"(?:(?:st|nd|rd|th|er?)\b)?(?![\w/-]|[.,]\d)"
)
_MAX_PART = 20
"""The largest part of `one in ten`; in other languages and beyond it, `in` is of time or place."""


class _Whole(NamedTuple):
    """The whole of a ratio, and its part, or two lengths; `start` is that of the word between."""

    part: Decimal
    part_start: int
    part_end: int
    value: Decimal
    start: int
    end: int
    is_length: bool


def same_ratios(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether the wholes of the ratios of a source are wholes in its translation."""
    wholes = [*_wholes(source, languages[0])]
    target = primary_language(languages[-1])
    if not wholes or target not in _WRITTEN:
        return True
    numbers = _numbers(translation, languages[-1])

    def behind(pattern: re.Pattern[str]) -> set[Decimal]:
        return {
            value
            for value, start, _ in numbers
            if pattern.search(translation, max(start - 12, 0), start)
        }

    sides = behind(_SIDES[target][1])
    if not all(whole.value in sides for whole in wholes if whole.is_length):
        return False
    there = behind(_WRITTEN[target]) | set(ordinals_in_words(translation, languages[-1]))
    there.update(map(Decimal, re.findall(r"/[ ]?(\d{1,4})\b", translation)))
    return all(whole.value in there for whole in wholes if not whole.is_length) or bool(
        _OTHERWISE.search(translation)
    )


def ratios_written(text: str, source: str, target: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of the wholes, from the word before them, as the other language has them."""
    code = primary_language(target)
    link = {"en": ("out of", "in"), "fr": ("sur", "sur")}.get(code)
    if link is not None:
        for whole in _wholes(text, source):
            digits = text[whole.end - len(str(whole.value)) : whole.end]
            digits = digits if digits == str(whole.value) else str(whole.value)
            if (
                whole.is_length
                and unit_at(text, whole.end, source)
                and whole.start > whole.part_end + 1
            ):
                continue  # each has its unit, so that the second one is a number of its own
            if whole.is_length:
                yield whole.start, whole.end, f"{_SIDES[code][0]} {digits}"
            elif whole.start - whole.part_end > 1 or whole.part != int(whole.part):
                yield whole.start, whole.end, f"{link[whole.part == 1]} {digits}"
            else:
                yield whole.part_start, whole.end, f"{whole.part} {link[whole.part == 1]} {digits}"


def _wholes(text: str, language: str) -> Iterator[_Whole]:
    link = _LINKS.get(primary_language(language))
    if link is None or not any(word in text for word in (" in ", " out of ", " by ", "sur")):
        return
    for (part, first, end), (whole, start, last) in pairwise(_numbers(text, language)):
        found = link.fullmatch(text, end, start)
        if found is None:
            continue
        at = found.start("link")
        unit = unit_at(text, end if at > end + 1 else last, language)
        has_unit = unit is not None and any(name.startswith("length") for name in unit.names)
        if found["link"] == "by" or (found["link"] == "sur" and has_unit):
            if has_unit:
                yield _Whole(part, first, end, whole, at, last, True)
            continue
        if part >= whole or unit_at(text, last, language):
            continue
        if found["link"] == "in" and not (part <= _MAX_PART and whole % 100000 <= 1000):
            continue
        if found["link"] == "in" and part > 1 and at > end + 1:
            continue
        yield _Whole(part, first, end, whole, at, last, False)


def _numbers(text: str, language: str) -> list[tuple[Decimal, int, int]]:
    found = [(Decimal(one.value), one.start, one.end) for one in spelt_out(text, language)]
    for one in _DIGITS.finditer(text):
        whole = re.sub(rf"[a-z]|[,{SPACES}](?=\d{{3}})", "", one[0])
        found.append((Decimal(whole.replace(",", ".")), *one.span()))
    return sorted(found, key=lambda one: one[1])


def _words(*words: str) -> dict[str, re.Pattern[str]]:
    """Compile patterns of English and French for texts in lower case, which is faster."""
    return {
        language: re.compile(rf"\b(?:{one})")
        for language, one in zip(("en", "fr"), words, strict=True)
    }


_LESS = _words(
    r"(?:(?<!\bno )(?<!\bnot )(?:less|fewer) than|(?:under|down)\b|below|fell|fall(?:s|en)?\b"
    r"|drop|decreas|declin"
    r"|lost?\b|lower|shr[aiu]nk)",
    r"(?:(?<!\bau )(?<!\bdu )(?<!\bpas )moins|inférieur|sous\b(?!-)|dessous|baiss|diminu|recul|chut"
    r"|tomb|perdu?\b|descend|rédui)",
)
_MORE = _words(
    r"(?:more than|at least|not? (?:less|fewer) than|(?:over|up)\b|above|exceed|rose"
    r"|ris(?:e|es|en|ing)\b|increas|gr[eo]w|gain"
    r"|climb|higher|jump|soar)",
    r"(?:plus (?:de|que)|(?:au|pas) moins|supérieur|dessus|dépass|augment|hauss|progress|gagn|grimp"
    r"|bond|élev"
    r"|mont(?!agn|r|s?\b)|croî?t)",
)
"""Words of both sides of a number; a translation of one is not the other."""

_BEYOND = _words(
    r"(?!(?:oth|rath)er)(?:more|less|fewer|\w+er|worse) than (?:about )?\W?\d",
    r"(?:plus|moins) (?!de\b)\w+ qu(?:e |['’])\W?\d",
)
_MAY_BE_BEYOND = _words(
    r"(?:than|over|under|above|below|beyond|past|exceed\w*|up to|within|at (?:least|most))\b|[<>+]",
    r"(?:plus|moins|supérieur|inférieur|dépass|excéd|au-de|dess[ou]|outre|passé|jusqu)|[<>+]",
)
"""Comparisons with a number, `older than 21 days`, and what may say the same."""

_CHANGED_BY = re.compile(
    r"\b(?:baiss|augment|hauss|progress|recul|diminu|chut|grimp|bond)\w*(?: \w+)?"
    r" de \d(?!.{0,100} (?:à|au) )"
)
_FROM = re.compile(r"\bfrom \W?\d")
_TWICE_TO = re.compile(rf"\bto \W?\d[\d.,]*[{SPACES}]?%? to \W?\d|à \d[\d,]*[{SPACES}]?%? à \d")
"""Forms that a change by a number, or from one to another, must not take."""

_RATE_OF_CHANGE = {
    "en": re.compile(r"\b(?:is|are|was|were) (?:up|down) (?:by )?\W?\d[\d.,]*[ ]?(?:%|per ?cent)"),
    "fr": re.compile(rf"\best en (?:hausse|baisse) de \d[\d,]*[{SPACES}]?%"),
}

_UP_TO = _words(
    rf"(?:as (?:many|much) as[{SPACES}]\W?\d|up to[{SPACES}]\W?\d"
    rf"|(?:at most|no (?:more|longer|later) than)[{SPACES}])",
    rf"(?:jusqu['’]à|au plus)[{SPACES}]\d",
)
_MAY_BE_UP_TO = _words(
    r"(?:up to|at most|no[tr]? (?:more|longer|later) than|max|as (?:much|many|long|high|far)|until"
    r"|more than|to\b|reach|exceed|within|by\b)",
    r"(?:jusqu|au plus|maxi|max\b|dépass|atteindre|pouvant|excéd|plafon|d['’]ici|limit|autant que"
    r"|pas moins|quelque"
    r"|(?:n[e'’]|pas|sans)\b.{0,40}\bplus)",
)


def same_bounds(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether no bound of a number is lost, and the direction of a change is not its opposite."""
    here, there = map(primary_language, languages)
    if {here, there} != {"en", "fr"}:
        return True
    read, written = source.lower(), translation.lower()
    if (
        (
            (" than " in source or " qu" in source)  # fast
            and _BEYOND[here].search(read)
            and not _MAY_BE_BEYOND[there].search(written)
        )
        or (_FROM.search(translation) and _CHANGED_BY.search(source))
        or (_TWICE_TO.search(translation) and not _TWICE_TO.search(source))
    ):
        return False
    less, more = _LESS[here].search(read), _MORE[here].search(read)
    is_rate = ("%" in source or "cent" in source) and _RATE_OF_CHANGE[here].search(source)
    if is_rate and not (_LESS[there].search(written) or _MORE[there].search(written)):
        return False
    if (less is None) != (more is None):
        less_there, more_there = _LESS[there].search(written), _MORE[there].search(written)
        if bool(less_there) == bool(more) and bool(more_there) == bool(less):
            return False
    return not _UP_TO[here].search(read) or bool(_MAY_BE_UP_TO[there].search(written))
