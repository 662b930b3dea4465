"""Generated sentences with numbers, times, units and symbols, and patterns of their translations.

The patterns share no code with the server, so that they can check it.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

Language = Literal["en", "fr"]

_TABLES = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))
FRAMES: dict[Language, dict[str, list[str]]] = _TABLES["frames"]
MONTHS: dict[Language, list[str]] = _TABLES["months"]
ORDINALS: dict[int, str] = {int(rank): words for rank, words in _TABLES["ordinals"].items()}

Fact: TypeAlias = tuple[str, str]
"""A number or symbol as written in the language, and a pattern of it in either language."""


@dataclass(frozen=True)
class Sentence:
    """A sentence to translate, and a pattern that its translation must contain."""

    kind: str
    text: str
    pattern: re.Pattern[str]

    def is_wrong_in(self, translation: str) -> bool:
        """Whether a translation lacks the fact or contains U+FFFD."""
        return "\ufffd" in translation or not self.pattern.search(translation)


_GAP = "[ \u00a0\u2009\u202f]?"


def sentences(language: Language, count: int, seed: int) -> list[Sentence]:
    """Return sentences of every kind in turn, determined by the seed."""
    random = Random(seed)
    found = []
    for index in range(count):
        make = _MAKERS[index % len(_MAKERS)]
        kind = make.__name__[1:]
        written, pattern = make(random, language)
        frame = random.choice(FRAMES[language]["count" if kind == "digits" else kind])
        found.append(Sentence(kind, frame.format(written), re.compile(pattern)))
    return found


def _pattern(value: Decimal) -> str:
    """Return a pattern of a number, with or without grouping, with either decimal mark."""
    whole, _, fraction = f"{value:f}".partition(".")
    grouped = f"{int(whole):,}".replace(",", "[.,'\u00a0\u2009\u202f ]?")
    tail = f"[.,]{fraction}0*" if fraction else r"(?![.,]?\d)"
    return rf"(?<!\d)(?<!\d[.,]){grouped}{tail}(?!\d)"


def _written(value: Decimal, language: Language, group: str = " ") -> str:
    written = f"{value:,f}"
    if language == "en":
        return written
    return written.replace(",", group).replace(".", ",")


def _count(random: Random, language: Language) -> Fact:
    value = Decimal(random.randrange(21, 10 ** random.randint(2, 6) + 21))
    return _written(value, language, random.choice(" \u00a0\u2009\u202f")), _pattern(value)


def _decimal(random: Random, language: Language) -> Fact:
    value = Decimal(random.randrange(11, 9999)) / 10 ** random.randint(1, 2)
    if value == value.to_integral():
        value += Decimal("0.3")
    return _written(value, language), _pattern(value)


def _money(random: Random, language: Language) -> Fact:
    sign, words = random.choice(
        (("€", "€|euros?|EUR"), ("$", r"\$|dollars?|USD"), ("£", "£|pounds?|livres?|GBP"))
    )
    value = Decimal(random.randrange(100, 10 ** random.randint(3, 7))) / 100
    if random.random() < 0.4:
        value = Decimal(int(value) + 21)
    written, number = _written(value, language), _pattern(value)
    amount = f"{sign}{written}" if language == "en" else f"{written} {sign}"
    before = rf"(?:{words}){_GAP}{number}"
    return amount, rf"(?i){before}|{number}{_GAP}(?:{words}|\w+ (?:d'|of )?(?:{words}))"


def _time(random: Random, language: Language) -> Fact:
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
    return written, f"(?i){by_24}|{by_12}"


def _ordinal(random: Random, language: Language) -> Fact:
    rank = random.choice([*ORDINALS, 21, 22, 33, 48, 64, 101])
    last = 0 if 10 < rank % 100 < 20 else rank % 10
    ending = "e" if language == "fr" else {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    words = ORDINALS.get(rank, r"\d{9}")
    return f"{rank}{ending}", rf"(?i)(?<!\d){rank}(?:i?e|i?ème|st|nd|rd|th)|\b(?:{words})\b"


def _part(random: Random, _: Language) -> Fact:
    written, words = random.choice(
        (("1/4", "quarter|quart"), ("3/4", "three[ -]quarters|trois[ -]quarts"),
         ("2/3", "two[ -]thirds|deux[ -]tiers"), ("5/8", r"five[ -]eighths|cinq[ -]huitièmes"))
    )  # fmt: skip
    return written, rf"(?i)(?<!\d){written}(?!\d)|{words}"


def _range(random: Random, language: Language) -> Fact:
    first = random.randrange(3, 60)
    last = first + random.randrange(2, 40)
    between = random.choice(("-", "–", " to " if language == "en" else " à "))
    return f"{first}{between}{last}", rf"(?<!\d){first}(?!\d).{{1,12}}?(?<!\d){last}(?!\d)"


def _degrees(random: Random, _: Language) -> Fact:
    value = random.randrange(2, 40)
    sign = random.choice("-−")
    below = r".{0,20}(?:below|under|dessous|sous)"
    pattern = rf"(?i)(?:[-−–]|minus |moins ){value}(?!\d)|(?<!\d){value}(?!\d){below}"
    return f"{sign}{value} °C", pattern


def _date(random: Random, language: Language) -> Fact:
    day, month, year = random.randrange(2, 29), random.randrange(12), random.randrange(1800, 2030)
    written = f"{day} {MONTHS[language][month]} {year}"
    if language == "en" and random.random() < 0.5:
        written = f"{MONTHS['en'][month]} {day}, {year}"
    name = f"(?:{MONTHS['en'][month]}|{MONTHS['fr'][month]})"
    day_month = rf"(?<!\d){day}(?:th|st|nd|rd)?(?: of)? {name}|{name} (?:the )?{day}(?!\d)"
    return written, rf"(?i)(?:{day_month})(?:th|st|nd|rd)?,? (?:of |in )?{year}(?!\d)"


def _unit(random: Random, language: Language) -> Fact:
    sign, words = random.choice(list(_TABLES["units"].items()))
    value = Decimal(random.randrange(21, 999)) / random.choice((1, 10))
    if value == value.to_integral():
        value = Decimal(int(value))
    written = f"{_written(value, language)}{random.choice((' ', chr(0xA0)))}{sign}"
    return written, f"{_pattern(value)}{_GAP}(?:{words})"


def _scaled(random: Random, language: Language) -> Fact:
    value = Decimal(random.randrange(21, 99)) / 10
    if value == value.to_integral():
        value += Decimal("0.5")
    written = f"{_written(value, language)} million{'s' * (language == 'fr')}"
    full = _pattern(Decimal(int(value * 10**6)))
    return written, rf"{_pattern(value)}{_GAP}million|{full}"


def _reign(random: Random, _: Language) -> Fact:
    name = random.choice(_TABLES["reigns"])
    return name, rf"\b{name.split()[1]}\b"


def _digits(random: Random, _: Language) -> Fact:
    digits = random.choice(_TABLES["other_digits"])
    number = str(random.randrange(21, 9999))
    either = "".join(f"[{one}{digits[int(one)]}]" for one in number)
    return "".join(digits[int(one)] for one in number), rf"(?<!\d){either}(?!\d)"


def _year(random: Random, _: Language) -> Fact:
    year = random.randrange(1100, 2050)
    return str(year), rf"(?<!\d){year}(?!\d)"


def _percent(random: Random, language: Language) -> Fact:
    value = Decimal(random.randrange(21, 999)) / 10
    written = _written(value, language) + ("%" if language == "en" else " %")
    return written, f"{_pattern(value)}{_GAP}(?:%|per ?cent|pour cent)"


def _symbol(random: Random, _: Language) -> Fact:
    kept = random.choice(_TABLES["kept"])
    return kept, re.escape(kept)


_MAKERS: list[Callable[[Random, Language], Fact]] = [
    _count, _money, _symbol, _time, _decimal, _year, _percent, _symbol, _ordinal, _part, _time,
    _range, _degrees, _date, _unit, _scaled, _reign, _digits,
]  # fmt: skip
