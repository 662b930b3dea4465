"""A language's numbers, scales, units, months and eras in the Unicode CLDR, read by Babel.

Everything is found at the first use of a language, which takes a tenth of a second, and kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from model.text.language_codes import primary_language

if TYPE_CHECKING:
    from babel import Locale

SPACES = " \u00a0\u2007\u2009\u200a\u202f"
"""Spaces within a number, between it and its unit, and between its words."""

_NARROW = re.compile("[\u00a0\u202f]")
Money = Literal["before", "before, apart", "behind"]
_MONEY: dict[str, Money] = {"¤#": "before", "¤ ": "before, apart", "0¤": "behind", " ¤": "behind"}


@dataclass(frozen=True, slots=True)
class Convention:
    """How a language writes numbers; the narrow and no-break spaces of CLDR are plain ones here.

    decimal, group  the decimal mark and the separator of thousands
    money           where a currency sign stands; behind, it is always apart
    """

    decimal: str
    group: str
    money: Money


@cache
def locale_of(language: str) -> Locale | None:
    """Return the locale of a code such as `en` or `pt-PT`, if CLDR has it or its language."""
    from babel import Locale, UnknownLocaleError

    code = language.replace("-", "_")
    for one in (code, code.split("_")[0]):
        try:
            return Locale.parse(one)
        except (UnknownLocaleError, ValueError):
            continue
    return None


@cache
def convention_of(language: str) -> Convention | None:
    """Return how a language writes numbers and amounts of money; None if unknown.

    It is not known, either, of languages that group digits in any other way than by threes (Hindi
    and others of India), that have digits of their own, or that are written from right to left.
    """
    locale = locale_of(language)
    if (
        locale is None
        or locale.default_numbering_system != "latn"
        or locale.text_direction != "ltr"
        or locale.decimal_formats[None].grouping != (3, 3)
    ):
        return None
    symbols = locale.number_symbols["latn"]
    pattern = _NARROW.sub(" ", locale.currency_formats["standard"].pattern.split(";")[0])
    money = _MONEY.get(pattern[:2]) or _MONEY.get(pattern[-2:], "behind")
    return Convention(symbols["decimal"], _NARROW.sub(" ", symbols["group"]), money)


# Symbols that languages share, by the unit's name in CLDR.
_SYMBOLS = {
    symbol: unit
    for unit, symbols in {
        "length-kilometer": "km", "length-meter": "m", "length-decimeter": "dm",
        "length-centimeter": "cm", "length-millimeter": "mm", "length-micrometer": "µm μm",
        "length-mile": "mi", "length-yard": "yd yds", "length-foot": "ft",
        "area-hectare": "ha", "area-square-meter": "m² m2", "area-square-kilometer": "km² km2",
        "area-square-centimeter": "cm² cm2", "volume-cubic-meter": "m³ m3",
        "volume-cubic-centimeter": "cm³ cm3",
        "mass-tonne": "t", "mass-kilogram": "kg", "mass-gram": "g gr", "mass-milligram": "mg",
        "mass-microgram": "µg μg", "mass-pound": "lb lbs", "mass-ounce": "oz",
        "volume-liter": "l L", "volume-deciliter": "dl dL", "volume-centiliter": "cl cL",
        "volume-milliliter": "ml mL", "volume-hectoliter": "hl hL",
        "digital-kilobyte": "kB KB Ko ko", "digital-megabyte": "MB Mo", "digital-gigabyte": "GB Go",
        "digital-terabyte": "TB To", "digital-megabit": "Mbit Mbit/s Mbps Mb/s",
        "digital-gigabit": "Gbit Gbit/s Gbps Gb/s",
        "temperature-celsius": "°C ℃", "temperature-fahrenheit": "°F ℉", "temperature-generic": "°",
        "speed-kilometer-per-hour": "km/h kmh kph", "speed-mile-per-hour": "mph mi/h",
        "speed-meter-per-second": "m/s",
        "power-watt": "W", "power-kilowatt": "kW", "power-megawatt": "MW", "power-horsepower": "hp",
        "energy-kilowatt-hour": "kWh", "energy-kilojoule": "kJ", "electric-volt": "V",
        "frequency-hertz": "Hz", "frequency-kilohertz": "kHz", "frequency-megahertz": "MHz",
        "frequency-gigahertz": "GHz", "duration-hour": "h hrs", "duration-minute": "min mn",
        "duration-second": "s sec", "duration-millisecond": "ms",
    }.items()
    for symbol in symbols.split()
}  # fmt: skip
_COLLOQUIAL: dict[str, dict[str, str]] = {
    "en": {"mass-kilogram": "kilo kilos", "mass-tonne": "ton tons tonne tonnes",
           "digital-gigabyte": "gigs", "digital-megabyte": "megs"},
    "fr": {"mass-kilogram": "kilo kilos", "length-mile": "mile miles mille milles",
           "digital-gigabyte": "giga", "digital-megabyte": "méga",
           "power-horsepower": "chevaux cheval"},
    "": {"mass-kilogram": "kilo kilos quilo quilos chilo chili"},
}  # fmt: skip
_WORDED = (*dict.fromkeys(_SYMBOLS.values()), "length-inch", "volume-gallon", "mass-ton",
           "duration-day", "duration-week", "duration-month", "duration-year", "duration-century",
           "area-acre", "area-square-foot", "area-square-mile", "digital-bit", "digital-byte",
           "digital-petabyte", "electric-ampere", "energy-calorie", "energy-kilocalorie",
           "energy-joule", "graphics-megapixel", "graphics-pixel", "length-light-year",
           "length-nanometer", "light-lumen", "mass-carat", "power-gigawatt",
           "pressure-hectopascal", "speed-knot", "temperature-kelvin", "volume-pint",
           "volume-tablespoon", "volume-teaspoon")  # fmt: skip
_SAME = {"mass-ton": "mass-tonne", "length-nautical-mile": "length-mile"}
_REGIONAL = {"en": ("en", "en-GB"), "fr": ("fr", "fr-CA"), "pt": ("pt", "pt-PT")}
_AMBIGUOUS = {"in", "a", "d", "y", "j", "h", "pt", "pi", "po", "mo", "min", "s", "m", "w", "n", "c"}
"""Abbreviations of CLDR for words of one or two letters that are others, too."""

_CURRENCIES = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY CNY", "₹": "INR", "CHF": "CHF"}
_FAMILIES = {"USD": "CAD AUD HKD", "GBP": "EGP SYP", "INR": "PKR LKR", "CHF": "XAF XPF"}
"""Currencies of the same noun: what their names have in common is the noun."""


@cache
def currency_words(language: str) -> Mapping[str, frozenset[str]]:
    """Return the words for the currencies of the common signs, in lower case, by sign."""
    locale = locale_of(language)
    found: dict[str, frozenset[str]] = {}
    for sign, codes in _CURRENCIES.items():
        words = {sign.lower(), *codes.lower().split()}
        for code in codes.split():
            if locale is None:
                break
            own = set(_currency_names(locale, code))
            family = _FAMILIES.get(code, "").split()
            others = {word for one in family for word in _currency_names(locale, one)}
            words |= (own & others) or own
        found[sign] = frozenset(words)
    return found


def _currency_names(locale: Locale, code: str) -> Iterator[str]:
    data: Mapping[str, Any] = locale._data
    names = [data["currency_names"].get(code, "")]
    names += dict(data["currency_names_plural"].get(code, {})).values()
    for name in names:
        yield from (word.lower() for word in re.findall(r"[^\W\d_]{3,}", str(name)))


@cache
def unit_words(language: str) -> Mapping[str, str]:
    """Return the units of the words and signs that a language has for them, words in lower case."""
    found: dict[str, str] = {}
    for code in _REGIONAL.get(primary_language(language), (language,)):
        locale = locale_of(code)
        patterns: Mapping[str, Any] = locale._data["unit_patterns"] if locale else {}
        for unit in _WORDED:
            for length in ("long", "short"):
                for pattern in _texts(patterns.get(unit, {}).get(length, {})):
                    word = _NARROW.sub(" ", pattern.replace("{0}", "")).strip().lower()
                    word = word.rstrip(".")
                    if len(word) > word.isascii() and word not in _AMBIGUOUS:
                        found.setdefault(word, unit)
    colloquial = _COLLOQUIAL.get(primary_language(language), _COLLOQUIAL[""])
    for unit, words in colloquial.items() if found else ():
        for word in words.split():
            found.setdefault(word, unit)
    return {word: _SAME.get(unit, unit) for word, unit in found.items()}


def unit_symbols() -> Mapping[str, str]:
    """Return the units of the symbols that languages share."""
    return _SYMBOLS


def _texts(patterns: Any) -> Iterator[str]:
    for form, pattern in dict(patterns).items():
        if isinstance(pattern, str) and form != "per":
            yield pattern


@cache
def scale_words(language: str) -> Mapping[str, int]:
    """Return the exponents of ten of a language's words for large numbers, in lower case."""
    locale = locale_of(language)
    found: dict[str, int] = {}
    formats: Mapping[str, Any] = locale.compact_decimal_formats if locale else {}
    for length in ("long", "short"):
        for sizes in dict(formats.get(length, {})).values():
            for size, pattern in sizes.items():
                text = _NARROW.sub(" ", getattr(pattern, "pattern", str(pattern)))
                word = re.sub("[0¤'.]", "", text.split(";")[0]).strip().lower()
                exponent = len(size) - 1 - max(text.count("0") - 1, 0)
                if len(word) > 1 or (word and not word.isascii()):
                    found.setdefault(word, exponent)
    return found


_MORE_MONTHS = {"en": {"sept": 9}, "fr": {"jan": 1, "fév": 2, "fev": 2, "jui": 6, "aout": 8}}


@cache
def month_names(language: str) -> Mapping[str, int]:
    """Return the numbers of a language's months by their names in lower case, whole and short."""
    locale = locale_of(language)
    found: dict[str, int] = {}
    for context in ("format", "stand-alone"):
        for length in ("wide", "abbreviated"):
            names = locale.months[context][length] if locale else {}
            for number, name in dict(names).items():
                word = str(name).lower().rstrip(".")
                if len(word) > 2 and not any(map(str.isdecimal, word)):
                    found.setdefault(word, number)
    return found | _MORE_MONTHS.get(primary_language(language), {})


@cache
def era_names(language: str) -> Mapping[Literal["before", "after"], frozenset[str]]:
    """Return the names of the eras before and after Christ, letters only and in lower case."""
    locale = locale_of(language)
    found: dict[Literal["before", "after"], set[str]] = defaultdict(set)
    more: dict[str, tuple[Iterable[str], Iterable[str]]] = {
        "en": (("bce", "beforechrist"), ("ce", "annodomini")),
        "fr": (("avjc", "avantjc", "avantjésuschrist", "avantnotreère"), ("aprjc", "aprèsjc")),
    }
    for length in ("wide", "abbreviated"):
        names = dict(locale.eras[length]) if locale else {}
        for number, side in enumerate(("before", "after")):
            if number in names:
                found[side].add(letters_of(str(names[number])))  # type: ignore[index]
    before, after = more.get(primary_language(language), ((), ()))
    found["before"].update(before)
    found["after"].update(after)
    return {side: frozenset(names) for side, names in found.items() if names}


@cache
def has_dotted_times(language: str) -> bool:
    """Whether a language writes times of day with a full stop: `15.30`."""
    locale = locale_of(language)
    return locale is not None and "." in locale.time_formats["short"].pattern


@cache
def year_word(language: str) -> str | None:
    """Return the word that a language writes behind a year in a date, such as `г`."""
    locale = locale_of(language)
    pattern = locale.date_formats["long"].pattern if locale else ""
    word = re.search(rf"y[{SPACES}]?'(\w+)'", pattern)
    return word and word[1]


def letters_of(text: str) -> str:
    """Return the letters of a text in lower case."""
    return "".join(filter(str.isalpha, text)).lower()


def unit_pattern(unit: str, value: Decimal, language: str, *, is_short: bool) -> str | None:
    """Return a language's pattern for a value with a unit, with `{0}` for the number."""
    locale = locale_of(language)
    if locale is None:
        return None
    for length in ("short", "long") if is_short else ("long", "short"):
        patterns: Mapping[str, Any] = locale._data["unit_patterns"].get(unit, {}).get(length, {})
        pattern = patterns.get(locale.plural_form(value)) or patterns.get("other")
        if pattern is not None:
            return _NARROW.sub(" ", pattern)
    return None


def scale_name(exponent: int, value: Decimal, language: str) -> tuple[str, int] | None:
    """Return a language's word for a large power of ten, and the power: the next smaller one."""
    locale = locale_of(language)
    sizes = dict(locale.compact_decimal_formats.get("long", {})) if locale else {}
    form = sizes.get(locale.plural_form(value)) or sizes.get("other") if locale else None
    for size in range(exponent, 5, -1):
        pattern = getattr((form or {}).get(str(10**size)), "pattern", "")
        if pattern.count("0") == 1 and (word := pattern.replace("0", "").strip()):
            return word, size
    return None


def currency_noun(sign: str, value: Decimal, language: str) -> str | None:
    """Return the noun of a currency, such as `dollars`, if its names have one in common."""
    locale = locale_of(language)
    code = _CURRENCIES[sign].split()[0]
    if locale is None:
        return None
    names = locale._data["currency_names_plural"].get(code, {})
    name = names.get(locale.plural_form(value)) or names.get("other")
    words = [
        one for one in str(name or "").split() if one.lower() in currency_words(language)[sign]
    ]
    return words[0] if len(words) == 1 else None


def era_name(side: Literal["before", "after"], language: str) -> str | None:
    """Return how a language abbreviates an era."""
    locale = locale_of(language)
    names = dict(locale.eras["abbreviated"]) if locale else {}
    return names.get(0 if side == "before" else 1)
