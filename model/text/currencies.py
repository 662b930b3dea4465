"""Whether a translation names the currencies of its source's amounts, by sign, code or word."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LANGUAGES = {"de", "en", "es", "fr", "it", "nl", "pt"}
"""Those whose words for currencies are below; in others a word may stand for any sign."""

_CURRENCIES = (
    ("€", "euros?|eur"),
    ("$", r"\$|(?:us-?)?d[oó]l+ar(?:s|es|i|o)?|usd|cad|aud|bucks?"),
    ("£", "pounds?|livres?|libras?|pfund|sterlin[ae]s?|sterling|pond|lire?|gbp|quid"),
    ("¥", "yens?|yuans?|jpy|cny|rmb|ienes?"),
    ("₹", "rupees?|roupies?|rupien?|rupias?|inr"),
)
_SPACES = " \u00a0\u2009\u202f"
_AMOUNTS = tuple(
    re.compile(rf"{re.escape(sign)}[{_SPACES}]?\d|\d[{_SPACES}]?{re.escape(sign)}")
    for sign, _ in _CURRENCIES
)
_NAMES = tuple(
    re.compile(rf"{re.escape(sign)}|\b(?:{words})\b", re.IGNORECASE) for sign, words in _CURRENCIES
)
_SIGNS = re.compile("[€$£¥₹]")


def same_currencies(source: str, translation: str, languages: Sequence[str] = ("en", "fr")) -> bool:
    """Whether each currency that has a sign beside a number in one text is named in the other.

    languages  codes of both texts
    """
    return _has_all(source, translation, languages[-1]) and _has_all(
        translation, source, languages[0]
    )


def _has_all(one: str, other: str, language: str) -> bool:
    if not _SIGNS.search(one):
        return True
    knows_words = re.split("[-_]", language)[0] in _LANGUAGES
    return all(
        name.search(other) or not (knows_words or _SIGNS.search(other))
        for amount, name in zip(_AMOUNTS, _NAMES, strict=True)
        if amount.search(one)
    )
