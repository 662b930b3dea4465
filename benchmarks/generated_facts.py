"""Sentences with numbers, money, times, emoji and symbols, in English and in French.

Each comes with its facts, by a notation of its own that no tested code writes or reads, so that
what a translation says can be told from what it should say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Literal

Language = Literal["en", "fr"]


@dataclass(frozen=True)
class Sentence:
    """A sentence to translate.

    kind    what it has
    number  a pattern of the number in either language, for numbers, money and times
    kept    what has to come out unchanged, for emoji and symbols
    """

    kind: str
    text: str
    number: re.Pattern[str] | None = None
    kept: str | None = None

    def is_corrupted_by(self, translation: str) -> bool:
        """Whether a translation lacks the number or the emoji, or has U+FFFD."""
        if "\ufffd" in translation:
            return True
        if self.kept is not None:
            return self.kept not in translation
        return self.number is not None and not self.number.search(translation)


FRAMES: dict[Language, dict[str, tuple[str, ...]]] = {
    "en": {
        "count": (
            "There are {} houses in the village.", "We counted {} birds this morning.",
            "The report has {} pages.", "She wrote {} letters last year.",
            "The school has {} pupils.", "They sold {} books.",
        ),
        "decimal": (
            "The box weighs {} kilograms.", "It is {} metres long.",
            "The river rose by {} centimetres.", "He ran {} kilometres.",
        ),
        "money": (
            "It costs {}.", "I paid {} for the ticket.", "He owes me {}.",
            "The company lost {} last year.", "You can buy it for {} here.",
        ),
        "time": (
            "The train leaves at {}.", "Call me at {}.", "The meeting starts at {}.",
            "The shop opens at {} on Monday.",
        ),
        "year": ("He was born in {}.", "The war ended in {}.", "The house was built in {}."),
        "percent": ("Prices rose by {}.", "About {} of the people voted.", "We save {}."),
        "symbol": (
            "I love {} very much.", "The children {} play in the garden.",
            "She wrote {} on the wall.", "My brother said {} to me.",
            "We {} thank you for your help.",
        ),
    },
    "fr": {
        "count": (
            "Il y a {} maisons dans le village.", "Nous avons compté {} oiseaux ce matin.",
            "Le rapport a {} pages.", "Elle a écrit {} lettres l'année dernière.",
            "L'école a {} élèves.", "Ils ont vendu {} livres.",
        ),
        "decimal": (
            "La boîte pèse {} kilogrammes.", "Il fait {} mètres de long.",
            "La rivière est montée de {} centimètres.", "Il a couru {} kilomètres.",
        ),
        "money": (
            "Cela coûte {}.", "J'ai payé {} pour le billet.", "Il me doit {}.",
            "L'entreprise a perdu {} l'année dernière.", "Vous pouvez l'acheter pour {} ici.",
        ),
        "time": (
            "Le train part à {}.", "Appelle-moi à {}.", "La réunion commence à {}.",
            "Le magasin ouvre à {} le lundi.",
        ),
        "year": (
            "Il est né en {}.", "La guerre s'est terminée en {}.",
            "La maison a été construite en {}.",
        ),
        "percent": (
            "Les prix ont augmenté de {}.", "Environ {} des gens ont voté.",
            "Nous économisons {}.",
        ),
        "symbol": (
            "J'aime beaucoup {} aussi.", "Les enfants {} jouent dans le jardin.",
            "Elle a écrit {} sur le mur.", "Mon frère m'a dit {} hier.",
            "Nous {} vous remercions de votre aide.",
        ),
    },
}  # fmt: skip
KEPT = (
    "😀", "👍🏽", "👨‍👩‍👧", "❤️", "🇫🇷", "3️⃣",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "🎉🎉",
    "✓", "→", "★★★", "☎", "♫", "∞", "½", "m²", "CO₂",
    "привет", "добрый день", "日本語", "שלום", "مرحبا", "नमस्ते", "Ελλάδα", "한국어", "😀 😎",
    "👩🏾‍💻",
)  # fmt: skip
_GAP = "[ \u00a0\u2009\u202f]?"


def sentences(language: Language, count: int, seed: int) -> list[Sentence]:
    """Return sentences of every kind in turn; the same for the same seed."""
    random = Random(seed)
    makers: list[Callable[[Random, Language], Sentence]] = [
        _count, _money, _symbol, _time, _decimal, _year, _percent, _symbol,
    ]  # fmt: skip
    return [makers[index % len(makers)](random, language) for index in range(count)]


def _framed(kind: str, random: Random, language: Language, content: str) -> str:
    return random.choice(FRAMES[language][kind]).format(content)


def _pattern(value: Decimal, *, unit: str = "") -> re.Pattern[str]:
    """Return a pattern of a number, grouped or not, with either decimal mark."""
    whole, _, fraction = f"{value:f}".partition(".")
    grouped = f"{int(whole):,}".replace(",", "[.,'\u00a0\u2009\u202f ]?")
    tail = f"[.,]{fraction}0*" if fraction else r"(?![.,]?\d)"
    return re.compile(rf"(?<!\d)(?<!\d[.,]){grouped}{tail}(?!\d){unit}")


def _written(value: Decimal, language: Language) -> str:
    written = f"{value:,f}"
    if language == "en":
        return written
    return written.replace(",", " ").replace(".", ",")


def _count(random: Random, language: Language) -> Sentence:
    value = Decimal(random.randrange(21, 10 ** random.randint(2, 6) + 21))
    text = _framed("count", random, language, _written(value, language))
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
    hours = "|".join({str(hour), str(hour % 12), str(hour % 12 or 12), f"{hour:02}"})
    pattern = rf"(?<!\d)(?:{hours}){_GAP}(?:[:h.]|heures?|hours?|o'clock){_GAP}{minute:02}(?!\d)"
    return Sentence("time", _framed("time", random, language, written), re.compile(pattern))


def _year(random: Random, language: Language) -> Sentence:
    year = random.randrange(1100, 2050)
    text = _framed("year", random, language, str(year))
    return Sentence("year", text, re.compile(rf"(?<!\d){year}(?!\d)"))


def _percent(random: Random, language: Language) -> Sentence:
    value = Decimal(random.randrange(21, 999)) / 10
    written = _written(value, language) + ("%" if language == "en" else " %")
    text = _framed("percent", random, language, written)
    return Sentence("percent", text, _pattern(value, unit=f"{_GAP}(?:%|per ?cent|pour cent)"))


def _symbol(random: Random, language: Language) -> Sentence:
    kept = random.choice(KEPT)
    return Sentence("symbol", _framed("symbol", random, language, kept), kept=kept)
