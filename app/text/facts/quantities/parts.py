"""Parts of a unit in English and French: `half an hour`, `un quart de litre`, `half a point`."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from app.text.facts.quantities.units import PERCENT, UNCHECKED, names_unit, unit_at
from model.text.language_codes import primary_language

_PART = {
    "en": re.compile(
        r"\b(?:(?P<half>half)(?:(?:[ -]of)?[ ]an?|(?=[ -]))"
        r"|(?P<quarter>quarter)(?:[ -]of[ ]an?|(?=[ -]))|(?P<third>third)[ -]of[ ]an?)"
        r"(?P<point>[ -](?:percentage[ -])?points?\b)?",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:(?P<half>demie?)|(?P<quarter>quart)|(?P<third>tiers))\b"
        r"(?P<point>(?:-|[ \u00a0](?:de[ \u00a0])?)points?\b)?",
        re.IGNORECASE,
    ),
}
_LETTERS = ("half", "quart", "third", "demi", "tiers")
"""Every match of `_PART` has one of these in lower case."""

_FRACTIONS = {"half": Decimal("0.5"), "quarter": Decimal("0.25"), "third": Decimal(1) / 3}
_NAMES = {
    "half": re.compile(r"½|\b(?:half|halv|hálf|mid|semi|demi|moitié|mi-|semestr)|[.,]5\b", re.I),
    "quarter": re.compile(r"¼|\b(?:quart|fourth|trimestr)|[.,]25\b", re.I),
    "third": re.compile(r"⅓|\b(?:third|tiers)|[.,]33", re.I),
}
_SMALLER = {
    "duration-century": (("duration-year", 100),),
    "duration-year": (("duration-month", 12),),
    "duration-day": (("duration-hour", 24),),
    "duration-hour": (("duration-minute", 60),),
    "duration-minute": (("duration-second", 60),),
    "length-kilometer": (("length-meter", 1000),),
    "length-meter": (("length-centimeter", 100),),
    "mass-tonne": (("mass-kilogram", 1000),),
    "mass-kilogram": (("mass-gram", 1000),),
    "volume-liter": (("volume-centiliter", 100), ("volume-milliliter", 1000)),
}
"""Units in which a part of a unit is often written, and how many of them it has."""

_POINTS = re.compile(r"\bp(?:oint|unt|onto)|[%٪％]|per ?cent|pour[ -]cent", re.IGNORECASE)


class PartOfUnit(NamedTuple):
    """A part of a unit, or of a point.

    part      `half`, `quarter` or `third`
    names     of its unit
    of_point  whether it is one of a percentage point, and its unit is a percentage
    """

    part: str
    names: frozenset[str]
    of_point: bool

    def amounts(self) -> Iterator[tuple[Decimal, frozenset[str]]]:
        """Yield its values with their units: half an hour is half of one, and 30 minutes."""
        fraction = _FRACTIONS[self.part]
        yield fraction, self.names
        for name in self.names:
            for smaller, count in _SMALLER.get(name, ()):
                yield fraction * count, frozenset({smaller})

    def is_named(self, text: str, language: str) -> bool:
        """Whether a text has a word or decimal for the part, and its unit or point."""
        if _NAMES[self.part].search(text) is None:
            return False
        if self.of_point:
            return _POINTS.search(text) is not None
        return self.names.issubset(UNCHECKED) or names_unit(text, self.names, language) is not False


def parts_of_units(text: str, language: str) -> Iterator[PartOfUnit]:
    """Yield the parts of units and points of a text."""
    pattern = _PART.get(primary_language(language))
    if pattern is None:
        return
    lowered = text.lower()
    if not any(map(lowered.__contains__, _LETTERS)):  # fast
        return
    for match in pattern.finditer(text):
        part = next(one for one in _FRACTIONS if match[one])
        if match["point"]:
            yield PartOfUnit(part, frozenset({PERCENT}), True)
        elif unit := unit_at(text, match.end(), language):
            yield PartOfUnit(part, unit.names, False)
