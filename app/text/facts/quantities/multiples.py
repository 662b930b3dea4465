"""Nouns that multiply the number before them: dozens, scores, French tens, thousands in slang."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from app.text.facts.quantities.slang_money import is_of_prices
from model.text.language_codes import primary_language

MULTIPLES = {
    "en": {"dozen": 12, "score": 20, "grand": 1000},
    "fr": {
        "dizaine": 10, "douzaine": 12, "quinzaine": 15, "vingtaine": 20, "trentaine": 30,
        "quarantaine": 40, "cinquantaine": 50, "soixantaine": 60, "centaine": 100, "millier": 1000,
        "brique": 10_000, "patate": 10_000, "plaque": 10_000, "bâton": 10_000,
    },
}  # fmt: skip
_SLANG = {"grand", "brique", "patate", "plaque", "bâton"}
_NOUN = {
    "en": re.compile(
        r"(?P<half>\b(?:half[ ]an?|a[ ]half|half)[ -])?"
        r"\b(?P<noun>dozen|score(?=[ ](?:of|and|years)\b)|grand)(?P<plural>)\b"
        r"(?P<of>[ ]of\b)?",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"(?P<half>\bdemi-)?"
        r"\b(?P<noun>(?:d[iou]{1,2}z|quinz|vingt|trent|quarant|cinquant|soixant|cent)aine"
        r"|millier|brique|patate|plaque|bâton)(?P<plural>s?)\b(?P<of>[ \u00a0]d(?:e\b|['’]))?",
        re.IGNORECASE,
    ),
}
_LETTERS = {
    "en": ("dozen", "score", "grand"),
    "fr": ("aine", "millier", "brique", "patate", "plaque", "bâton"),
}
"""Every match of `_NOUN` has one of these in lower case."""

_VAGUE = re.compile(
    r"(?:\b(?:few|several|many|some|couple|of|by the|per|baker['’]s)|['’]s)[ ]$", re.IGNORECASE
)
"""Words before `dozen` that leave the number open, or make it 13."""

_ONE = re.compile(r"\b(?:an?|une?)[ \u00a0](?:(?:bonne|petite|grosse|good)[ ])?$", re.IGNORECASE)
_OTHER_SENSES = {"quarantaine", "quinzaine"}
"""Quarantine and fortnight, unless a noun follows."""

_PEOPLE = re.compile(
    r"[ ](?:people|persons|men|women|children|soldiers|others|times|years|books|houses|villages"
    r"|towns|countries|ships|students|pupils|guests)\b",
    re.IGNORECASE,
)
"""Nouns behind `a score of`, which is of sports or music otherwise."""

_NOUN_BEHIND = re.compile(
    r"[ -](?!(?:an?|and|as|at|but|by|down|each|every|for|from|he|if|in|into|is|it|last|less|more|of"
    r"|off|on|or|out|over|per|she|than|that|they|this|to|today|up|was|we|when|with|you|i)\b)\w",
    re.IGNORECASE,
)
"""A word behind `grand` that makes it an adjective: `five grand pianos`."""


_LINK = re.compile(r"[ \u00a0]d(?:e[ \u00a0]|['’])")


class Multiple(NamedTuple):
    """A noun that multiplies a number.

    value   for one of it: 6 for half a dozen
    start   of its span, with the word for half
    end     of its span
    is_one  whether it is one, without a number before it: `a dozen`
    """

    value: int
    start: int
    end: int
    is_one: bool


def multiples(text: str, language: str) -> Iterator[Multiple]:
    """Yield the nouns of English and French that multiply a number, in order."""
    code = primary_language(language)
    values = MULTIPLES.get(code)
    if values is None:
        return
    lowered = text.lower()
    if not any(map(lowered.__contains__, _LETTERS[code])):  # fast
        return
    for match in _NOUN[code].finditer(text):
        if found := _multiple(match, values):
            yield found


def multiple_at(text: str, start: int, language: str) -> Multiple | None:
    """Return the noun that multiplies a number and starts there, if there is one."""
    code = primary_language(language)
    values = MULTIPLES.get(code)
    match = _NOUN[code].match(text, start) if values else None
    return _multiple(match, values) if match and values else None


def _multiple(match: re.Match[str], values: Mapping[str, int]) -> Multiple | None:
    text, noun = match.string, match["noun"].lower()
    if noun not in values or (noun in _SLANG and not is_of_prices(text, match.start())):
        return None
    if noun == "grand" and _NOUN_BEHIND.match(text, match.end("noun")):
        return None
    value = values[noun] // 2 if match["half"] else values[noun]
    return Multiple(value, match.start(), match.end("plural"), _is_one(match, noun))


def linked_noun(text: str, end: int) -> str:
    """Return the French `de` that links a multiple to its noun: digits have none."""
    link = _LINK.match(text, end)
    return link[0] if link else ""


def _is_one(match: re.Match[str], noun: str) -> bool:
    """Whether a multiple without a number before it is one, neither vague nor another word."""
    before = match.string[max(match.start() - 16, 0) : match.start()]
    if match["plural"] or _VAGUE.search(before):
        return False
    if match["half"] or noun == "dozen":
        return True
    is_counted = _ONE.search(before) is not None
    if noun == "score":
        return is_counted and _PEOPLE.match(match.string, match.end()) is not None
    if noun in _SLANG:
        return is_counted
    return match["of"] is not None or (is_counted and noun not in _OTHER_SENSES)
