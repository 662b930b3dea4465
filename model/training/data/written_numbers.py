"""Generates sentences with amounts, times, dates and measures, written as in English and French.

Corpora contain few of them, all with different numbers, so that a model learns to copy digits
instead of converting decimal marks, thousands separators, currencies and hours. A generated corpus
has as many as a recipe requests and depends only on its seed.
"""

from random import Random

from model.training.data.written_facts import KINDS as _FACTS
from model.training.data.written_facts import Kind, Written

_MONTHS = (
    ("January", "janvier"), ("February", "février"), ("March", "mars"), ("April", "avril"),
    ("May", "mai"), ("June", "juin"), ("July", "juillet"), ("August", "août"),
    ("September", "septembre"), ("October", "octobre"), ("November", "novembre"),
    ("December", "décembre"),
)  # fmt: skip
_UNITS = (
    ("km", "km"), ("kg", "kg"), ("m", "m"), ("cm", "cm"), ("mm", "mm"), ("g", "g"), ("GB", "Go"),
    ("MB", "Mo"), ("kB", "ko"), ("km/h", "km/h"), ("°C", "°C"), ("litres", "litres"),
    ("hours", "heures"), ("minutes", "minutes"), ("days", "jours"), ("people", "personnes"),
    ("pages", "pages"), ("metres", "mètres"), ("years", "ans"), ("points", "points"),
)  # fmt: skip

_AMOUNT_SENTENCES = (
    ("{}", "{}"), ("It costs {}.", "Ça coûte {}."), ("The ticket costs {}.", "Le billet coûte {}."),
    ("I paid {} for it.", "Je l'ai payé {}."), ("Price: {}", "Prix : {}"),
    ("The total is {}.", "Le total est de {}."), ("He owes me {}.", "Il me doit {}."),
    ("They spent {} last year.", "Ils ont dépensé {} l'année dernière."),
    ("The price rose to {}.", "Le prix est passé à {}."),
    ("The company lost {}.", "L'entreprise a perdu {}."),
    ("You have {} left.", "Il vous reste {}."), ("Only {}!", "Seulement {} !"),
)  # fmt: skip
_TIME_SENTENCES = (
    ("{}", "{}"), ("The train leaves at {}.", "Le train part à {}."),
    ("We will meet at {}.", "Nous nous retrouverons à {}."), ("It is {}.", "Il est {}."),
    ("The shop opens at {}.", "Le magasin ouvre à {}."), ("Call me at {}.", "Appelle-moi à {}."),
    ("The meeting starts at {}.", "La réunion commence à {}."),
    ("I got up at {} this morning.", "Je me suis levé à {} ce matin."),
    ("The flight lands at {}.", "L'avion atterrit à {}."),
)  # fmt: skip
_DATE_SENTENCES = (
    ("{}", "{}"), ("He was born on {}.", "Il est né le {}."),
    ("The contract ends on {}.", "Le contrat se termine le {}."),
    ("We will leave on {}.", "Nous partirons le {}."), ("Published on {}", "Publié le {}"),
    ("The exhibition opens on {}.", "L'exposition ouvre le {}."),
    ("It happened on {}.", "Cela s'est passé le {}."),
)  # fmt: skip
_MEASURE_SENTENCES = (
    ("{}", "{}"), ("It is {} away.", "C'est à {} d'ici."), ("It takes {}.", "Il faut {}."),
    ("There are {} in all.", "Il y a {} en tout."), ("About {}", "Environ {}"),
    ("More than {} were counted.", "On en a compté plus de {}."),
    ("The limit is {}.", "La limite est de {}."), ("Less than {}.", "Moins de {}."),
    ("That makes {}.", "Cela fait {}."),
)  # fmt: skip
_SHARE_SENTENCES = (
    ("{}", "{}"), ("The rate is {}.", "Le taux est de {}."),
    ("Prices rose by {}.", "Les prix ont augmenté de {}."),
    ("Unemployment fell to {}.", "Le chômage est tombé à {}."),
    ("Save {} today!", "Économisez {} aujourd'hui !"),
    ("About {} of the votes", "Environ {} des voix"),
)  # fmt: skip


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
    english, french = random.choice(_MONTHS)
    ordinal = "1er" if day == 1 else str(day)
    if random.random() < 0.5:
        return f"{english} {day}, {year}", f"{ordinal} {french} {year}"
    return f"{day} {english} {year}", f"{ordinal} {french} {year}"


def measure(random: Random) -> Written:
    """`1,200 km` and `1 200 km`, `16 GB` and `16 Go`."""
    english, french = decimal(random) if random.random() < 0.4 else integer(random, 5)
    unit_english, unit_french = random.choice(_UNITS)
    return f"{english} {unit_english}", f"{french} {unit_french}"


def share(random: Random) -> Written:
    """`12.5%` and `12,5 %`."""
    value, fraction = random.randrange(101), random.randrange(1, 10)
    if random.random() < 0.5:
        return f"{value}%", f"{value} %"
    return f"{value}.{fraction}%", f"{value},{fraction} %"


_KINDS: tuple[Kind, ...] = (
    *_FACTS,
    (0.3, amount, _AMOUNT_SENTENCES),
    (0.2, time_of_day, _TIME_SENTENCES),
    (0.15, date, _DATE_SENTENCES),
    (0.2, measure, _MEASURE_SENTENCES),
    (0.15, share, _SHARE_SENTENCES),
)


def generate_pairs(count: int, seed: int) -> list[Written]:
    """Return `count` pairs of English and French sentences with a number or another fact each."""
    random = Random(seed)
    pairs = []
    for _ in range(count):
        (_, write, sentences) = random.choices(_KINDS, [weight for weight, *_ in _KINDS])[0]
        english, french = write(random)
        frame_english, frame_french = random.choice(sentences)
        pairs.append((frame_english.format(english), frame_french.format(french)))
    return pairs
