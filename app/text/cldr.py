"""A language's numbers, scales, units, months and eras in the Unicode CLDR, read by Babel.

Everything is found at the first use of a language, which takes a tenth of a second, and kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
Calendar = Literal["months", "days"]
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


_NOT_COUNTED = re.compile(
    "acceleration|angle|torque|consumption-liter|concentr-(?:item|karat|mole|per(?:cent|myriad))"
    "|digital-(?:kilobit|byte)$|duration-(?:quarter|decade|night)|energy-(?:therm|food)|force"
    "|graphics-(?:em|dot)|length-(?:earth|solar|point|parsec|furlong|fathom|astro|pico|mile-)"
    "|light-(?:solar|candela)|mass-(?:stone|grain|dalton|earth|solar|ounce-troy)|pressure-gas"
    "|speed-(?:beaufort|light)|volume-(?:bushel|drop|dram|jigger|pinch|quart|dessert|mega)"
    "|.*-(?:person|imperial|metric)$"
)
"""Units of CLDR whose words or symbols are rarer than others that are written the same."""

_MORE_SYMBOLS = {
    "length-yard": "yds", "mass-gram": "gr", "mass-pound": "lbs", "mass-microgram": "µg",
    "digital-kilobyte": "KB", "digital-megabit": "Mbit/s Mbps Mb/s",
    "digital-gigabit": "Gbit/s Gbps Gb/s", "temperature-celsius": "℃",
    "temperature-fahrenheit": "℉", "digital-megabyte": "Mo", "digital-petabyte": "Po",
    "speed-kilometer-per-hour": "kmh kph", "duration-hour": "hrs h",
    "duration-minute": "min mn Min", "duration-second": "s sec",
    "length-meter": "m", "length-micrometer": "µm",
}  # fmt: skip
"""Symbols that people write and CLDR does not."""

_COLLOQUIAL: dict[str, dict[str, str]] = {
    "en": {"mass-kilogram": "kilo kilos", "mass-tonne": "ton tons tonne tonnes",
           "digital-gigabyte": "gigs", "digital-megabyte": "megs",
           "temperature-generic": "degree degrees"},
    "fr": {"mass-kilogram": "kilo kilos", "length-mile": "mile miles mille milles",
           "digital-gigabyte": "giga", "digital-megabyte": "méga",
           "power-horsepower": "chevaux cheval", "temperature-generic": "degré degrés",
           "area-square-kilometer": "km_carré km_carrés", "area-square-meter": "m_carré m_carrés",
           "speed-mile-per-hour": "miles_à_l'heure milles_à_l'heure", "length-inch": "po"},
    "ja": {"duration-month": "ヶ月 カ月 ヵ月", "length-centimeter": "センチ"},
    "ko": {"duration-month": "달"},
    "zh": {"mass-kilogram": "公斤", "length-kilometer": "千米", "length-centimeter": "公分",
           "temperature-generic": "度", "duration-week": "星期 週", "duration-hour": "钟头 鐘頭"},
    "": {"mass-kilogram": "kilo kilos quilo quilos chilo chili"},
}  # fmt: skip
_PLAIN_POWERS = str.maketrans("²³", "23")
_SAME = {"mass-ton": "mass-tonne", "length-nautical-mile": "length-mile"}
_REGIONAL = {"en": ("en", "en-GB"), "fr": ("fr", "fr-CA"), "pt": ("pt", "pt-PT")}
_AMBIGUOUS = {
    "in", "a", "d", "y", "j", "h", "pt", "pi", "po", "mo", "min", "s", "m", "w", "n", "c", "o", "e",
    "A", "J", "K", "N", "ct", "kt", "tr", "al", "kn", "MP", "bar", "tn", "CD",
    "ma", "pa", "cal", "sm", "Mb", "Gb", "Tb", "kb",
}  # fmt: skip
"""Abbreviations of CLDR that are other words or names, too."""


@cache
def unit_words(language: str) -> Mapping[str, str]:
    """Return the units of the words and signs that a language has for them, words in lower case."""
    found: dict[str, str] = {}
    for code in _REGIONAL.get(primary_language(language), (language,)):
        locale = locale_of(code)
        patterns: Mapping[str, Any] = locale._data["unit_patterns"] if locale else {}
        for unit in filter(is_counted, patterns):
            for length in ("long", "short"):
                for pattern in _texts(patterns[unit].get(length, {})):
                    word = _NARROW.sub(" ", pattern.replace("{0}", "")).strip().lower()
                    word = word.rstrip(".")
                    if len(word) > word.isascii() and word not in _AMBIGUOUS:
                        found.setdefault(word, unit)
    colloquial = _COLLOQUIAL.get(primary_language(language), _COLLOQUIAL[""])
    for unit, words in colloquial.items() if found else ():
        for word in words.split():
            found.setdefault(word.replace("_", " "), unit)
    return {word: _SAME.get(unit, unit) for word, unit in found.items()}


@cache
def unit_symbols() -> Mapping[str, str]:
    """Return the units of the symbols that languages share: those of English."""
    found = {word: unit for unit, words in _MORE_SYMBOLS.items() for word in words.split()}
    locale = locale_of("en")
    patterns: Mapping[str, Any] = locale._data["unit_patterns"] if locale else {}
    for unit in filter(is_counted, patterns):
        is_long = unit in ("duration-day", "duration-week", "duration-month", "duration-year")
        for pattern in () if is_long else _texts(patterns[unit].get("short", {})):
            symbol = pattern.replace("{0}", "").strip(SPACES)
            is_word = symbol.islower() and symbol.isalpha() and len(symbol) > 3
            if not is_word and symbol not in _AMBIGUOUS and not set(symbol) & set(" .\u00a0"):
                found.setdefault(symbol, unit)
                found.setdefault(symbol.translate(_PLAIN_POWERS), unit)
                if "L" in symbol:
                    found.setdefault(symbol.replace("L", "l"), unit)
    return found


@cache
def is_counted(unit: str) -> bool:
    """Whether a unit of CLDR is looked for in texts."""
    return not _NOT_COUNTED.match(unit)


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
    names = _calendar_names(language, "months", ("wide", "abbreviated"))
    return names | _MORE_MONTHS.get(primary_language(language), {})


@cache
def whole_names(language: str, of: Calendar) -> Mapping[str, int]:
    """Return the numbers of the months or days of the week by their whole names in lower case."""
    return _calendar_names(language, of, ("wide",))


def _calendar_names(language: str, of: Calendar, lengths: Sequence[str]) -> dict[str, int]:
    locale = locale_of(language)
    found: dict[str, int] = {}
    for context in ("format", "stand-alone"):
        for length in lengths:
            names = getattr(locale, of)[context][length] if locale else {}
            for number, name in dict(names).items():
                word = str(name).lower().rstrip(".")
                if len(word) > 2 and not any(map(str.isdecimal, word)):
                    found.setdefault(word, number)
    return found


@cache
def place_names(language: str) -> frozenset[str]:
    """Return the words of the names of countries and languages in lower case."""
    locale = locale_of(language)
    names = [*locale.territories.values(), *locale.languages.values()] if locale else []
    return frozenset(word for name in names for word in re.findall(r"\w{3,}", name.lower()))


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


def era_name(side: Literal["before", "after"], language: str) -> str | None:
    """Return how a language abbreviates an era."""
    locale = locale_of(language)
    names = dict(locale.eras["abbreviated"]) if locale else {}
    return names.get(0 if side == "before" else 1)
