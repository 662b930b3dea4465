"""Converts Marian's language names to the API's codes (BCP-47)."""

from __future__ import annotations

from collections.abc import Iterable

# ISO 639-3 → 639-1, which BCP-47 requires if one exists. OPUS-MT uses both.
_SHORT = {
    "afr": "af", "amh": "am", "ara": "ar", "aze": "az", "bel": "be", "ben": "bn", "bul": "bg",
    "cat": "ca", "ces": "cs", "cmn": "zh", "cym": "cy", "dan": "da", "deu": "de", "ell": "el",
    "eng": "en", "epo": "eo", "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr",
    "gla": "gd", "gle": "ga", "glg": "gl", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu",
    "hye": "hy", "ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "kat": "ka", "kaz": "kk",
    "kor": "ko", "lat": "la", "lav": "lv", "lit": "lt", "ltz": "lb", "mkd": "mk", "mlt": "mt",
    "mon": "mn", "msa": "ms", "nld": "nl", "nno": "nn", "nob": "nb", "nor": "no", "oci": "oc",
    "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es",
    "sqi": "sq", "srp": "sr", "swa": "sw", "swe": "sv", "tam": "ta", "tel": "te", "tgl": "tl",
    "tha": "th", "tur": "tr", "ukr": "uk", "urd": "ur", "uzb": "uz", "vie": "vi", "zho": "zh",
}  # fmt: skip


def language_code(name: str) -> str:
    """`fra` and `fr` → `fr`, `por_BR` → `pt-BR`; unknown names stay, with `-` for `_`."""
    language, *subtags = name.split("_")
    return "-".join((_SHORT.get(language, language), *subtags))


def codes_of_symbols(symbols: Iterable[str]) -> dict[str, str]:
    """Code → symbol, such as `fr` → `>>fra<<`.

    If two symbols have the same code, the one spelt like it gets it, and the other keeps its
    spelling.
    """
    names = {symbol.removeprefix(">>").removesuffix("<<"): symbol for symbol in symbols}
    codes: dict[str, str] = {}
    for name, symbol in names.items():
        code, spelt = language_code(name), name.replace("_", "-")
        codes[spelt if code in names or code in codes else code] = symbol
    return codes
