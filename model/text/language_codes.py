"""Converts language names of models and of requests to codes of BCP-47, by the Unicode CLDR.

CLDR's tables come with Babel, which is imported at the first use: aliases (`fra`, `iw`) and likely
subtags (`zh-TW` is `zh-Hant`).
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

_IN_MODELS = {"hbs": "sh", "tgl": "tl", "twi": "tw"}
"""Codes of two letters that models and clients use, and CLDR has withdrawn."""

_IN_NEITHER = {"fuv": "ff", "ns": "nso", "pbt": "ps", "quy": "qu"}
"""Names in NLLB and M2M-100 of the usual form of a macrolanguage, and a mistake in M2M-100."""

_IN_REQUESTS = {"nb": "no", "pb": "pt-br", "zt": "zh-hant"}
"""Codes that mean the same in a request; `pb` and `zt` are LibreTranslate's before version 1.7."""

_SCRIPTS_IN_MODELS = {"crh": "latn", "sat": "beng", "tzm": "tfng"}
"""The only scripts of these languages in NLLB; CLDR's usual ones are others."""


@cache
def _cldr(table: str) -> Mapping[str, str]:
    from babel.core import get_global

    return get_global(table)  # type: ignore[arg-type]


def standard_code(name: str) -> str:
    """Return the code of a model's language: `fra` → `fr`, `arb` → `ar`, `por_BR` → `pt-BR`.

    BCP-47 requires the code of two letters if there is one; other names stay.
    """
    language, *subtags = name.replace("_", "-").split("-")
    known = _IN_MODELS.get(language) or _IN_NEITHER.get(language)
    alias = known or _cldr("language_aliases").get(language, "")
    if not known and (len(alias) > 2 or language in _IN_MODELS.values()):
        alias = ""
    return "-".join((alias or language, *map(_cased, subtags)))


def _cased(subtag: str) -> str:
    """`hant` → `Hant`, `br` → `BR`."""
    return {2: subtag.upper(), 4: subtag.capitalize()}.get(len(subtag), subtag)


def standard_codes(names: str) -> list[str]:
    """`cat_oci_spa`, as OPUS-MT calls three languages, → `ca`, `oc`, `es`; else one code."""
    parts = names.split("_")
    is_list = len(parts) > 1 and all(len(standard_code(part)) < len(part) == 3 for part in parts)
    return [standard_code(part) for part in (parts if is_list else [names])]


def codes_of_symbols(symbols: Iterable[str]) -> dict[str, str]:
    """Code → symbol, such as `fr` → `>>fra<<`.

    If two symbols have the same code, the one spelt like it gets it, and the other keeps its
    spelling.
    """
    names = {symbol.removeprefix(">>").removesuffix("<<"): symbol for symbol in symbols}
    codes: dict[str, str] = {}
    for name, symbol in names.items():
        code, spelt = standard_code(name), name.replace("_", "-")
        codes[spelt if code in names or code in codes else code] = symbol
    return codes


@lru_cache(maxsize=4096)
def primary_language(code: str) -> str:
    """`fr-CA` and `fr_CA` → `fr`."""
    return re.split("[-_]", code)[0]


@lru_cache(maxsize=4096)
def canonical_code(code: str) -> str:
    """Return language, script and the rest of a code, in lower case: equal codes mean the same.

    `zh`, `zh-CN` and `zho_Hans` → `zh-hans`, `zh-hans-cn` and `zh-hans`; `sh` → `sr-latn`. The
    script is the usual one of the language and the region unless the code names another. A language
    that CLDR does not know has none.
    """
    language, *subtags = code.replace("_", "-").lower().split("-")
    language = _IN_NEITHER.get(language) or _cldr("language_aliases").get(language, language)
    language = _IN_REQUESTS.get(language, language)
    language, *implied = language.replace("_", "-").lower().split("-")
    if implied and not any(len(one) == len(implied[0]) for one in subtags):
        subtags = sorted([*implied, *subtags], key=len, reverse=True)
    if subtags and len(subtags[0]) == 4:
        script = "kore" if (language, subtags[0]) == ("ko", "hang") else subtags[0]
        return "-".join((language, script, *subtags[1:]))
    if language in _SCRIPTS_IN_MODELS:
        return "-".join((language, _SCRIPTS_IN_MODELS[language], *subtags))
    likely = _cldr("likely_subtags")
    regional = f"{language}_{subtags[0].upper()}" if subtags else language
    found = (likely.get(regional) or likely.get(language, "")).split("_")
    return "-".join((language, *(one.lower() for one in found[1:2]), *subtags))


def requested_codes(code: str) -> list[str]:
    """Return the canonical codes that a requested code may mean, from specific to general.

    `fr-CA` → `fr-latn-ca`, `fr-latn` (RFC 4647 lookup, but with the script); `pt` → `pt-latn`,
    `pt-latn-br`, the usual region.
    """
    canonical = canonical_code(code)
    subtags = canonical.split("-")
    found = [canonical, *("-".join(subtags[:n]) for n in range(len(subtags) - 1, 1, -1))]
    likely = _cldr("likely_subtags").get(subtags[0], "").lower().replace("_", "-")
    return [*found, likely] if likely.startswith(f"{canonical}-") else found
