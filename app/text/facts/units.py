"""Whether a translation names the units of its source's amounts: currencies, per cent, measures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.text.facts.number_conventions import SPACES, has_digit
from model.text.language_codes import primary_language

_LANGUAGES = {"de", "en", "es", "fr", "it", "nl", "pt"}
"""Those whose words for units are below; in others a word may stand for any sign."""

_CURRENCIES = (
    ("€", "euros?|eur"),
    ("$", r"\$|(?:us-?)?d[oó]l+ar(?:s|es|i|o)?|usd|cad|aud|bucks?"),
    ("£", "pounds?|livres?|libras?|pfund|sterlin[ae]s?|sterling|pond|lire?|gbp|quid"),
    ("¥", "yens?|yuans?|jpy|cny|rmb|ienes?"),
    ("₹", "rupees?|roupies?|rupien?|rupias?|inr"),
)
_PER_CENT = (
    "%",
    r"per ?cent\w*|pour[ -]?cents?|pourcent\w*|prozent\w*|porcent\w*|por ?cento?|por ciento"
    r"|procent\w*|percentual\w*|points?|punt[oi]s?|punkte?n?|punten|pontos?",
)
_SIGNED = (*_CURRENCIES, _PER_CENT)
_MEASURES = (
    ("km", r"[kq]uil[oó]m\w*|kilom\w*|chilom\w*"),
    ("cm", r"[cz]ent[ií]m\w*|zentim\w*"),
    ("mm", r"m[ilí]+m\w*"),
    ("kg", r"[kqc]h?u?ilo\w*"),
    ("mg", r"m[ilí]+g\w*"),
    ("ml|mL", r"m[ilí]+l\w*"),
    ("GB|Go", r"giga\w*|gigs?"),
    ("MB|Mo", r"m[eé]ga\w*"),
    ("°C|℃", r"°|℃|degr\w*|gra[du]\w*|celsius"),
    ("°F|℉", r"°|℉|degr\w*|gra[du]\w*|fahrenheit"),
)
"""Signs of measures with their words; those of one letter have other meanings."""

_AMOUNTS = tuple(
    re.compile(rf"{re.escape(sign)}[{SPACES}]?\d|\d[{SPACES}]?{re.escape(sign)}")
    for sign, _ in _SIGNED
)
_NAMES = tuple(
    re.compile(rf"{re.escape(sign)}|\b(?:{words})\b", re.IGNORECASE) for sign, words in _SIGNED
)
_SIGNS = re.compile("[€$£¥₹%]")
_MEASURED = tuple(
    (
        re.compile(rf"\d[{SPACES}]?(?:{signs})(?!\w)"),
        re.compile(rf"(?:(?<!\w)|(?<=\d))(?:{signs}|{words})(?!\w)", re.IGNORECASE),
    )
    for signs, words in _MEASURES
)
_ANY_MEASURE = re.compile(rf"\d[{SPACES}]?(?:{'|'.join(signs for signs, _ in _MEASURES)})(?!\w)")
_STRAY_DEGREES = re.compile(rf"(?<!\d)(?<!\d[{SPACES}])°[{SPACES}]?\d")
"""A sign of degrees before its number, as no language writes it."""

_CURRENCY_SIGNS = re.compile("[€$£¥₹]")


def same_units(source: str, translation: str, languages: Sequence[str] = ("en", "fr")) -> bool:
    """Whether each unit that has a sign beside a number in one text is named in the other.

    languages  codes of both texts
    """
    if not has_digit(source, translation):
        return True
    if _STRAY_DEGREES.search(translation) and not _STRAY_DEGREES.search(source):
        return False
    return _has_all(source, translation, languages[-1]) and _has_all(
        translation, source, languages[0]
    )


def _has_all(one: str, other: str, language: str) -> bool:
    knows_words = primary_language(language) in _LANGUAGES
    if knows_words and _ANY_MEASURE.search(one):
        for amount, name in _MEASURED:
            if amount.search(one) and not name.search(other):
                return False
    if not _SIGNS.search(one):
        return True
    # Another currency's sign is wrong in any language.
    has_another = _CURRENCY_SIGNS.search(other) is not None
    return all(
        name.search(other) or not (knows_words or (has_another and sign != "%"))
        for (sign, _), amount, name in zip(_SIGNED, _AMOUNTS, _NAMES, strict=True)
        if amount.search(one)
    )
