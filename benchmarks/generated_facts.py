"""Generated sentences with numbers, times, units and symbols, and patterns of their translations.

The patterns share no code with the server, so that they can check it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Literal

Language = Literal["en", "fr"]

_TABLES = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))
FRAMES: dict[Language, dict[str, list[str]]] = _TABLES["frames"]
MONTHS: dict[Language, list[str]] = _TABLES["months"]
ORDINALS: dict[int, str] = {int(rank): words for rank, words in _TABLES["ordinals"].items()}


@dataclass(frozen=True)
class Sentence:
    """A sentence to translate.

    number  a pattern of its number in either language
    kept    an emoji, symbol or word that must come through unchanged
    """

    kind: str
    text: str
    number: re.Pattern[str] | None = None
    kept: str | None = None

    def is_wrong_in(self, translation: str) -> bool:
        """Whether a translation lacks the number or `kept`, or contains U+FFFD."""
        if "\ufffd" in translation:
            return True
        if self.kept is not None:
            return self.kept not in translation
        return self.number is not None and not self.number.search(translation)


_GAP = "[ \u00a0\u2009\u202f]?"


def sentences(language: Language, count: int, seed: int) -> list[Sentence]:
    """Return sentences of every kind in turn, determined by the seed."""
    random = Random(seed)
    makers: list[Callable[[Random, Language], Sentence]] = [
        _count, _money, _symbol, _time, _decimal, _year, _percent, _symbol, _ordinal, _part, _time,
        _range, _degrees, _date, _unit, _scaled, _reign, _digits,
    ]  # fmt: skip
    return [makers[index % len(makers)](random, language) for index in range(count)]


def _framed(kind: str, random: Random, language: Language, content: str) -> str:
    return random.choice(FRAMES[language][kind]).format(content)


def _pattern(value: Decimal, *, unit: str = "") -> re.Pattern[str]:
    """Return a pattern of a number, with or without grouping, with either decimal mark."""
    whole, _, fraction = f"{value:f}".partition(".")
    grouped = f"{int(whole):,}".replace(",", "[.,'\u00a0\u2009\u202f ]?")
    tail = f"[.,]{fraction}0*" if fraction else r"(?![.,]?\d)"
    return re.compile(rf"(?<!\d)(?<!\d[.,]){grouped}{tail}(?!\d){unit}")


def _written(value: Decimal, language: Language, group: str = " ") -> str:
    written = f"{value:,f}"
    if language == "en":
        return written
    return written.replace(",", group).replace(".", ",")


def _count(random: Random, language: Language) -> Sentence:
    value = Decimal(random.randrange(21, 10 ** random.randint(2, 6) + 21))
    group = random.choice(" \u00a0\u2009\u202f")
    text = _framed("count", random, language, _written(value, language, group))
    return Sentence("count", text, _pattern(value))


def _decimal(random: Random, language: Language) -> Sentence:
    value = Decimal(random.randrange(11, 9999)) / 10 ** random.randint(1, 2)
    if value == value.to_integral():
        value += Decimal("0.3")
    text = _framed("decimal", random, language, _written(value, language))
    return Sentence("decimal", text, _pattern(value))


def _money(random: Random, language: Language) -> Sentence:
    sign, words = random.choice(
        (("€", "€|euros?|EUR"), ("$", r"\$|dollars?|USD"), ("£", "£|pounds?|livres?|GBP"))
    )
    value = Decimal(random.randrange(100, 10 ** random.randint(3, 7))) / 100
    if random.random() < 0.4:
        value = Decimal(int(value) + 21)
    written = _written(value, language)
    amount = f"{sign}{written}" if language == "en" else f"{written} {sign}"
    number = _pattern(value).pattern
    both = rf"(?:{words}){_GAP}{number}|{number}{_GAP}(?:{words}|\w+ (?:d'|of )?(?:{words}))"
    text = _framed("money", random, language, amount)
    return Sentence("money", text, re.compile(both, re.IGNORECASE))


def _time(random: Random, language: Language) -> Sentence:
    hour, minute = random.randrange(1, 24), random.choice((5, 15, 20, 30, 45, 50))
    if language == "fr":
        written = f"{hour} h {minute:02}"
    elif random.random() < 0.5:
        written = f"{hour}:{minute:02}"
    else:
        written = f"{hour % 12 or 12}:{minute:02} {'am' if hour < 12 else 'pm'}"
    minutes = rf"{_GAP}(?:[:h.]|heures?|hours?|o'clock){_GAP}{minute:02}(?!\d)"
    half, part = ("a", "du matin|in the morning")
    if hour >= 12:
        half, part = ("p", "de l['’]après-midi|du soir|in the (?:afternoon|evening)")
    by_24 = rf"(?<!\d)(?:{hour}|{hour:02}){minutes}(?!{_GAP}[ap]\.?m)"
    by_12 = rf"(?<!\d)(?:{hour % 12 or 12}){minutes}{_GAP}(?:{half}\.?m|{part})"
    pattern = re.compile(f"{by_24}|{by_12}", re.IGNORECASE)
    return Sentence("time", _framed("time", random, language, written), pattern)


def _ordinal(random: Random, language: Language) -> Sentence:
    rank = random.choice([*ORDINALS, 21, 22, 33, 48, 64, 101])
    last = 0 if 10 < rank % 100 < 20 else rank % 10
    ending = "e" if language == "fr" else {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    words = ORDINALS.get(rank, r"\d{9}")
    pattern = rf"(?<!\d){rank}(?:i?e|i?ème|st|nd|rd|th)|\b(?:{words})\b"
    text = _framed("ordinal", random, language, f"{rank}{ending}")
    return Sentence("ordinal", text, re.compile(pattern, re.IGNORECASE))


def _part(random: Random, language: Language) -> Sentence:
    written, words = random.choice(
        (("1/4", "quarter|quart"), ("3/4", "three[ -]quarters|trois[ -]quarts"),
         ("2/3", "two[ -]thirds|deux[ -]tiers"), ("5/8", r"five[ -]eighths|cinq[ -]huitièmes"))
    )  # fmt: skip
    text = _framed("part", random, language, written)
    return Sentence("part", text, re.compile(rf"(?<!\d){written}(?!\d)|{words}", re.IGNORECASE))


def _range(random: Random, language: Language) -> Sentence:
    first = random.randrange(3, 60)
    last = first + random.randrange(2, 40)
    between = random.choice(("-", "–", " to " if language == "en" else " à "))
    text = _framed("range", random, language, f"{first}{between}{last}")
    return Sentence(
        "range", text, re.compile(rf"(?<!\d){first}(?!\d).{{1,12}}?(?<!\d){last}(?!\d)")
    )


def _degrees(random: Random, language: Language) -> Sentence:
    value = random.randrange(2, 40)
    sign = random.choice("-−")
    text = _framed("degrees", random, language, f"{sign}{value} °C")
    below = r".{0,20}(?:below|under|dessous|sous)"
    pattern = rf"(?:[-−–]|minus |moins ){value}(?!\d)|(?<!\d){value}(?!\d){below}"
    return Sentence("degrees", text, re.compile(pattern, re.IGNORECASE))


def _date(random: Random, language: Language) -> Sentence:
    day, month, year = random.randrange(2, 29), random.randrange(12), random.randrange(1800, 2030)
    written = f"{day} {MONTHS[language][month]} {year}"
    if language == "en" and random.random() < 0.5:
        written = f"{MONTHS['en'][month]} {day}, {year}"
    name = f"(?:{MONTHS['en'][month]}|{MONTHS['fr'][month]})"
    day_month = rf"(?<!\d){day}(?:th|st|nd|rd)?(?: of)? {name}|{name} (?:the )?{day}(?!\d)"
    pattern = rf"(?:{day_month})(?:th|st|nd|rd)?,? (?:of |in )?{year}(?!\d)"
    text = _framed("date", random, language, written)
    return Sentence("date", text, re.compile(pattern, re.IGNORECASE))


def _unit(random: Random, language: Language) -> Sentence:
    sign, words = random.choice(list(_TABLES["units"].items()))
    value = Decimal(random.randrange(21, 999)) / random.choice((1, 10))
    if value == value.to_integral():
        value = Decimal(int(value))
    written = f"{_written(value, language)}{random.choice((' ', chr(0xA0)))}{sign}"
    pattern = _pattern(value, unit=f"{_GAP}(?:{words})")
    return Sentence("unit", _framed("unit", random, language, written), pattern)


def _scaled(random: Random, language: Language) -> Sentence:
    value = Decimal(random.randrange(21, 99)) / 10
    if value == value.to_integral():
        value += Decimal("0.5")
    written = f"{_written(value, language)} million{'s' * (language == 'fr')}"
    full = _pattern(Decimal(int(value * 10**6))).pattern
    pattern = re.compile(rf"{_pattern(value).pattern}{_GAP}million|{full}")
    return Sentence("scaled", _framed("scaled", random, language, written), pattern)


def _reign(random: Random, language: Language) -> Sentence:
    name = random.choice(_TABLES["reigns"])
    pattern = re.compile(rf"\b{name.split()[1]}\b")
    return Sentence("reign", _framed("reign", random, language, name), pattern)


def _digits(random: Random, language: Language) -> Sentence:
    digits = random.choice(_TABLES["other_digits"])
    number = str(random.randrange(21, 9999))
    text = _framed("count", random, language, "".join(digits[int(one)] for one in number))
    written = "".join(f"[{one}{digits[int(one)]}]" for one in number)
    return Sentence("digits", text, re.compile(rf"(?<!\d){written}(?!\d)"))


def _year(random: Random, language: Language) -> Sentence:
    year = random.randrange(1100, 2050)
    pattern = re.compile(rf"(?<!\d){year}(?!\d)")
    return Sentence("year", _framed("year", random, language, str(year)), pattern)


def _percent(random: Random, language: Language) -> Sentence:
    value = Decimal(random.randrange(21, 999)) / 10
    written = _written(value, language) + ("%" if language == "en" else " %")
    text = _framed("percent", random, language, written)
    return Sentence("percent", text, _pattern(value, unit=f"{_GAP}(?:%|per ?cent|pour cent)"))


def _symbol(random: Random, language: Language) -> Sentence:
    kept = random.choice(_TABLES["kept"])
    return Sentence("symbol", _framed("symbol", random, language, kept), kept=kept)
