"""Slang for money: `80 quid`, `20 balles`, and what tells it from bullets, bricks and deer."""

import re

SLANG_MONEY = {
    "en": {"£": ("quid",), "$": ("buck", "bucks")},
    "fr": {
        "€": ("balle", "balles"),
        "£": ("balle", "balles"),
        "CHF": ("balle", "balles"),
        "$": ("balle", "balles", "piasse", "piasses", "piastre", "piastres"),
    },
}
"""Words for an amount of a currency; several if the word is for the currency of the place."""

ANY_MONEY = "money"
"""The currency of all slang: each may stand for any other."""

_WORDS = {word for names in SLANG_MONEY.values() for words in names.values() for word in words}
_NEEDS_PRICE = {"balle", "balles"}
_PRICE = re.compile(
    r"[$€£]|\b(?:cost|worth|pa(?:y|id)|ow(?:e|ing)|sell|sold|bought|buy|spen[dt]|earn|sav(?:e|ing)|charg"
    r"|w[io]n\b|los[et]|price|rent|wage|salar|debt|loan|lent|lend|borrow|cash|money|bank|fined?\b"
    r"|co[uû]t|vaut|val(?:ait|oir|u)|pay|paie|vend|ach[eè]t|prix|doi[st]\b|dev(?:ait|oir|ez)\b|prêt"
    r"|rembours|emprunt|gagn|économ|dépens|lâch|claqu|perd|ticket|loyer|salaire|cher|argent|banque"
    r"|amende|(?:pour|à|moins de|plus de|fil(?:e|er|é))[ ](?:\d+|[\w-]+)"
    r"[ ](?:balle|brique|patate|plaque|bâton)s?\b)",
    re.IGNORECASE,
)
_OTHER_THINGS = re.compile(
    r"\b(?:deer|hunt|antler|stag|shot|fusil|pistolet|revolver|arme|tir[eé]|tué|bless|golf|tennis|ping"
    r"|raquette|chargeur|canon|jongl|foin|coton|match|terrain|lait|jus|maçon|mur|chantier|purée|kilo"
    r"|cuis|chauff|chocolat|ski|berger|bois)",
    re.IGNORECASE,
)


_NEAR = 200
"""Characters before and behind a word that say whether it is money."""


def is_of_prices(text: str, at: int) -> bool:
    """Whether a text is of prices near a position, so that slang for money is money there."""
    near = text[max(at - _NEAR, 0) : at + _NEAR]
    return _PRICE.search(near) is not None and _OTHER_THINGS.search(near) is None


def is_other_thing(word: str, text: str, at: int) -> bool:
    """Whether a word that may be slang for money is another thing at a position of a text."""
    if word not in _WORDS:
        return False
    if word in _NEEDS_PRICE:
        return not is_of_prices(text, at)
    return _OTHER_THINGS.search(text, max(at - _NEAR, 0), at + _NEAR) is not None
