"""Generates sentences with facts, for `written_numbers`: as English and French write them.

Telephone numbers, identifiers and code are copied; amounts, times, dates, measures, durations,
scales, number words, ordinals and eras differ. Corpora contain few of them, all different, so that
a model learns to copy digits instead of converting decimal marks, thousands separators, currencies
and hours. A generated corpus has as many as a recipe requests and depends only on its seed.
"""

import json
import string
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

Written = tuple[str, str]
"""The same content in English and in French."""

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Words of both languages, what is copied, and the sentences around each kind of fact."""

_UNITS, _UNITS_FR = zip(*TABLES["units"], strict=True)
_TENS, _TENS_FR = zip(*TABLES["tens"], strict=True)


def _one(random: Random, table: str) -> Any:
    return random.choice(TABLES[table])


def _digits(random: Random, count: int) -> str:
    return "".join(random.choices(string.digits, k=count))


def _letters(random: Random, count: int) -> str:
    return "".join(random.choices(string.ascii_uppercase, k=count))


def _both(text: str) -> Written:
    return text, text


def telephone(random: Random) -> Written:
    """A number of one of six countries or of North America, in its groups."""
    pair, three, four = (partial(_digits, random, count) for count in (2, 3, 4))
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"0{random.randint(1, 9)} {pair()} {pair()} {pair()} {pair()}",
        lambda: f"+33 {random.randint(1, 9)} {pair()} {pair()} {pair()} {pair()}",
        lambda: f"({random.randint(201, 989)}) {three()}-{four()}",
        lambda: f"{random.randint(201, 989)}-{three()}-{four()}",
        lambda: f"+1 {random.randint(201, 989)} {three()} {four()}",
        lambda: f"020 7{three()} {four()}",
        lambda: f"+44 20 7{three()} {four()}",
        lambda: f"0{random.randint(30, 89)} {_digits(random, 6)}",
        lambda: f"+49 {random.randint(30, 89)} {_digits(random, 7)}",
        lambda: f"+32 2 {three()} {pair()} {pair()}",
        lambda: f"0{random.randint(21, 91)} {three()} {pair()} {pair()}",
        lambda: f"0{random.randint(1, 9)}.{pair()}.{pair()}.{pair()}.{pair()}",
    )
    return _both(random.choice(forms)())


def identifier(random: Random) -> Written:
    """An IBAN, a card, a parcel, an order, a flight, a registration or a serial number."""
    four = partial(_digits, random, 4)
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"FR{_digits(random, 2)} {' '.join(four() for _ in range(5))} {_digits(random, 3)}",
        lambda: f"DE{_digits(random, 2)} {' '.join(four() for _ in range(4))} {_digits(random, 2)}",
        lambda: " ".join(four() for _ in range(4)),
        lambda: f"{_letters(random, 2)}{_digits(random, 9)}FR",
        lambda: f"1Z {_digits(random, 3)} {_letters(random, 2)}{_digits(random, 1)} {four()}",
        lambda: f"#{_letters(random, 1)}-{_digits(random, 5)}",
        lambda: f"ORD-20{_digits(random, 2)}-{_digits(random, 5)}",
        lambda: f"{random.choice(('AF', 'BA', 'LH', 'KL', 'TP', 'AC'))} {_digits(random, 4)}",
        lambda: f"{random.choice(('AF', 'BA', 'LH', 'U2'))}{_digits(random, 3)}",
        lambda: f"{_letters(random, 2)}-{_digits(random, 3)}-{_letters(random, 2)}",
        lambda: f"{_letters(random, 3)}{_digits(random, 4)}{_letters(random, 1)}",
        lambda: _digits(random, random.randint(6, 14)),
    )
    return _both(random.choice(forms)())


def code(random: Random) -> Written:
    """A command in backticks, an option, a path, a name, a call, an assignment, an address."""
    words = _one(random, "names").split()
    snake = "_".join(words)
    file = f"{random.choice(TABLES['files'])}.{random.choice(TABLES['endings'])}"
    forms = (
        f"`{random.choice(TABLES['commands'])}`",
        f"--{random.choice(TABLES['options'])}",
        f"-{random.choice(string.ascii_lowercase)}",
        f"/{random.choice(TABLES['folders'])}/{file}",
        f"C:\\{random.choice(('Temp', 'Users', 'Data'))}\\{file}",
        f"~/{file}",
        file,
        snake,
        f"{words[0]}{''.join(word.capitalize() for word in words[1:])}",
        f"{snake}()",
        f"f({random.choice(('x', 'x, y', '0', 'n + 1'))})",
        f"{snake}={random.randrange(1000)}",
        f"${snake.upper()}",
        f"0x{random.randrange(1 << 32):X}",
        f"v{random.randrange(20)}.{random.randrange(20)}.{random.randrange(20)}",
        ".".join(str(random.randrange(256)) for _ in range(4)),
        ":".join(f"{random.randrange(256):02x}" for _ in range(6)),
    )
    return _both(random.choice(forms))


def duration(random: Random) -> Written:
    """`24 hours` and `24 heures`, `2 h 30` in both, `three weeks` and `trois semaines`."""
    if random.random() < 0.3:
        text = f"{random.randint(2, 96)} h"
        return _both(text if random.random() < 0.5 else f"{text} {random.randint(10, 59)} min")
    english, french = _one(random, "periods")
    value = random.randint(2, 99)
    if value < 20 and random.random() < 0.4:
        return f"{_UNITS[value]} {english}", f"{_UNITS_FR[value]} {french}"
    return f"{value} {english}", f"{value} {french}"


def scale(random: Random) -> Written:
    """`$2 trillion` and `2 000 milliards de dollars`, `€5 million` and `5 M€`."""
    sign, noun = random.choice(
        (("$", "de dollars"), ("€", "d'euros"), ("£", "de livres"), ("", "d'habitants"))
    )
    people = "" if sign else " people"
    whole = random.randint(2, 99)
    english, french = (str(whole),) * 2
    if random.random() < 0.5:
        digit = random.randint(1, 9)
        english, french = f"{whole}.{digit}", f"{whole},{digit}"
    kind = random.random()
    if kind < 0.1 and sign:
        return f"{sign}{whole} trillion", f"{whole} 000 milliards {noun}"
    if kind < 0.25 and sign == "€":
        return f"€{english} million", f"{french} M€"
    name, name_french = ("billion", "milliards") if kind < 0.5 else ("million", "millions")
    return f"{sign}{english} {name}{people}", f"{french} {name_french} {noun}"


def in_words(value: int) -> Written:
    """A number below 1,000 in words: `seventy-one` and `soixante et onze`."""
    if value >= 100:
        hundreds, rest = divmod(value, 100)
        english = f"{_UNITS[hundreds]} hundred"
        french = "cent" if hundreds == 1 else f"{_UNITS_FR[hundreds]} cent"
        if not rest:
            return english, french + ("s" if hundreds > 1 else "")
        tail_english, tail_french = in_words(rest)
        return f"{english} and {tail_english}", f"{french} {tail_french}"
    if value < 20:
        return _UNITS[value], _UNITS_FR[value]
    tens, unit = divmod(value, 10)
    english = _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")
    base = _TENS_FR[tens - 2]
    if tens in (7, 9):
        unit += 10
    if value == 80:
        return english, "quatre-vingts"
    if unit == 0:
        return english, base
    if unit in (1, 11) and tens < 8:
        return english, f"{base} et {_UNITS_FR[unit]}"
    return english, f"{base}-{_UNITS_FR[unit]}"


def words(random: Random) -> Written:
    """`fifty-five dollars` and `cinquante-cinq dollars`."""
    english, french = in_words(random.choice((random.randint(3, 99), random.randint(100, 999))))
    noun, noun_french = _one(random, "counted")
    return f"{english} {noun}", f"{french} {noun_french}"


def roman(value: int) -> str:
    """Return a Roman numeral."""
    numeral = ""
    for size, sign in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        numeral += sign * (value // size)
        value %= size
    return numeral


def ordinal(value: int) -> Written:
    """`22nd` and `22e`, `1st` and `1er`."""
    ending = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}", "1er" if value == 1 else f"{value}e"


def era(random: Random) -> Written:
    """`in 44 BC` and `en 44 av. J.-C.`, `in the 19th century` and `au XIXe siècle`."""
    if random.random() < 0.4:
        year = random.randint(2, 999)
        return f"in {year} BC", f"en {year} av. J.-C."
    century = random.randint(2, 21)
    english = f"in the {ordinal(century)[0]} century"
    french = f"au {roman(century)}e siècle"
    if century < 13 and random.random() < 0.4:
        return f"{english} BC", f"{french} av. J.-C."
    return english, french


def rank(random: Random) -> Written:
    """`the 22nd district` and `le 22e arrondissement`."""
    english, french = ordinal(random.randint(2, 120))
    noun, noun_french = _one(random, "ranked")
    article = "la" if noun == "time" else "le"
    return f"the {english} {noun}", f"{article} {french} {noun_french}"


def integer(random: Random, digits: int = 7) -> Written:
    """`1,234,567` and `1 234 567`; four digits also without a separator, as in both languages."""
    value = random.randrange(10 ** random.randint(1, digits))
    if value < 10_000 and random.random() < 0.5:
        return str(value), str(value)
    english = f"{value:,}"
    return english, english.replace(",", " ")


def decimal(random: Random) -> Written:
    """`1,234.5` and `1 234,5`."""
    (english, french), fraction = integer(random, 5), random.randrange(1, 100)
    tail = f"{fraction:02}" if random.random() < 0.5 else str(fraction % 10)
    return f"{english}.{tail}", f"{french},{tail}"


def amount(random: Random) -> Written:
    """`€25.99` and `25,99 €`, `$3 million` and `3 millions de dollars`, `20 euros` in both."""
    (english, french) = decimal(random) if random.random() < 0.5 else integer(random, 5)
    kind = random.random()
    if kind < 0.75:
        sign = random.choice("€€€$$£")
        return f"{sign}{english}", f"{french} {sign}"
    if kind < 0.85:
        millions = random.randint(2, 900)
        name, noun = random.choice((("$", "de dollars"), ("€", "d'euros"), ("£", "de livres")))
        return f"{name}{millions} million", f"{millions} millions {noun}"
    noun = random.choice(("euros", "dollars"))
    return f"{english} {noun}", f"{french} {noun}"


def time_of_day(random: Random) -> Written:
    """`3:05 pm` or `15:05` and `15 h 05`; sometimes unchanged in both."""
    hour, minute = random.randrange(24), random.choice((0, 5, 15, 20, 30, 45, random.randrange(60)))
    french = f"{hour} h {minute:02}" if minute else f"{hour} h"
    kind = random.random()
    if kind < 0.15:
        return f"{hour}:{minute:02}", f"{hour}:{minute:02}"
    if kind < 0.5:
        return f"{hour}:{minute:02}", f"{hour} h {minute:02}"
    suffix = random.choice(("am", "a.m.", "AM") if hour < 12 else ("pm", "p.m.", "PM"))
    clock = str(hour % 12 or 12) + (f":{minute:02}" if minute else "")
    return f"{clock} {suffix}", french


def date(random: Random) -> Written:
    """`3 May 2021` or `May 3, 2021` and `3 mai 2021`; the first of a month is `1er`."""
    day, year = random.randint(1, 28), random.randint(1850, 2049)
    english, french = _one(random, "months")
    ordinal = "1er" if day == 1 else str(day)
    if random.random() < 0.5:
        return f"{english} {day}, {year}", f"{ordinal} {french} {year}"
    return f"{day} {english} {year}", f"{ordinal} {french} {year}"


def measure(random: Random) -> Written:
    """`1,200 km` and `1 200 km`, `16 GB` and `16 Go`."""
    english, french = decimal(random) if random.random() < 0.4 else integer(random, 5)
    unit_english, unit_french = _one(random, "measures")
    return f"{english} {unit_english}", f"{french} {unit_french}"


def share(random: Random) -> Written:
    """`12.5%` and `12,5 %`."""
    value, fraction = random.randrange(101), random.randrange(1, 10)
    if random.random() < 0.5:
        return f"{value}%", f"{value} %"
    return f"{value}.{fraction}%", f"{value},{fraction} %"


KINDS: tuple[tuple[float, Callable[[Random], Written]], ...] = (
    (0.2, telephone), (0.15, identifier), (0.25, code), (0.1, duration), (0.1, scale),
    (0.08, words), (0.07, era), (0.05, rank), (0.3, amount), (0.2, time_of_day), (0.15, date),
    (0.2, measure), (0.15, share),
)  # fmt: skip
"""Share and generator of each kind; its name is that of its sentences."""


def generate_pairs(count: int, seed: int) -> list[Written]:
    """Return `count` pairs of English and French sentences with a number or another fact each."""
    random = Random(seed)
    pairs = []
    for _ in range(count):
        (_, write) = random.choices(KINDS, [weight for weight, _ in KINDS])[0]
        english, french = write(random)
        frame_english, frame_french = random.choice(TABLES["sentences"][write.__name__])
        pairs.append((frame_english.format(english), frame_french.format(french)))
    return pairs
