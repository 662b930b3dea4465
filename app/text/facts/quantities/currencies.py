"""Signs, codes and nouns of currencies, by the words of CLDR."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from app.text.cldr import locale_of
from app.text.facts.quantities.slang_money import ANY_MONEY, SLANG_MONEY
from model.text.language_codes import primary_language

if TYPE_CHECKING:
    from babel import Locale


_CURRENCIES = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY CNY", "₹": "INR", "CHF": "CHF"}
_FAMILIES = {"USD": "CAD AUD HKD", "GBP": "EGP SYP", "INR": "PKR LKR", "CHF": "XAF XPF"}
"""Currencies of the same noun: what their names have in common is the noun."""

_NOUNS_WITHOUT_COUNTRY = {
    "ja": {"$": "ドル", "€": "ユーロ", "£": "ポンド", "¥": "円 元"},
    "ko": {"$": "달러 불", "€": "유로", "£": "파운드", "¥": "엔 위안", "KRW": "원"},
    "zh": {"$": "美元 美金", "€": "欧元 歐元", "£": "英镑 英鎊", "¥": "元 块 塊 日元 日圓 圆 圓"},
}
"""Nouns of currencies in languages that write them together with the name of the country."""


@cache
def currency_words(language: str) -> Mapping[str, frozenset[str]]:
    """Return the words for currencies in lower case, by sign, and by code for those without one.

    The others are known in English and French, whose nouns are the last and the first word.
    """
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
    for sign, slang in SLANG_MONEY.get(primary_language(language), {}).items():
        found[sign] |= {*slang}
        found[ANY_MONEY] = found.get(ANY_MONEY, frozenset()) | {*slang}
    for sign, bare in _NOUNS_WITHOUT_COUNTRY.get(primary_language(language), {}).items():
        found[sign] = found.get(sign, frozenset()) | {*bare.split()}
    place = {"en": -1, "fr": 0}.get(primary_language(language))
    if locale is None or place is None:
        return found
    known = frozenset().union(*found.values())
    for code in currency_codes():
        names = dict(locale._data["currency_names_plural"].get(code, {})).values()
        nouns = [re.sub("^nouve[^ ]* ", "", name.lower()).split()[place] for name in names]
        found.setdefault(currency_codes()[code], frozenset({*nouns} - known))
    return found


@cache
def currency_codes() -> Mapping[str, str]:
    """Return the codes of the currencies in use, each with its sign, or else itself."""
    from babel.core import get_global

    used = get_global("territory_currencies").values()
    signs = {code: sign for sign, codes in _CURRENCIES.items() for code in codes.split()}
    return {
        code: signs.get(code, code)
        for territory in used for code, _, end, is_tender in territory if is_tender and not end
    }  # fmt: skip


def _currency_names(locale: "Locale", code: str) -> Iterator[str]:
    data: Mapping[str, Any] = locale._data
    names = [data["currency_names"].get(code, "")]
    names += dict(data["currency_names_plural"].get(code, {})).values()
    for name in names:
        yield from (word.lower() for word in re.findall(r"[^\W\d_]{3,}", str(name)))


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
