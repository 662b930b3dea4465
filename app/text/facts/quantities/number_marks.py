"""The marks of numbers: signs of negative ones, and those of another language's convention."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal

from app.text.cldr import SPACES, convention_of, unit_symbols
from app.text.facts.quantities.number_words import words_of
from app.text.scripts import FEW_SPACES
from model.text.language_codes import primary_language

NUMBER = re.compile(rf"\d{{1,3}}(?:[{SPACES}'’٬]\d{{3}})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,٫٬]\d+)*")
_MISPLACED = re.compile(
    rf"(?<![\dNn])(?<!\d[{SPACES}])°[{SPACES}]?\d"
    rf"|[$€£¥₹]\d[\d.,]{{0,20}}[{SPACES}]?(?:[kMGT][Bbo]|k[gm]|[cm]m|ml)\b"
)
"""Degrees before their number, and a measure with a currency, as no language writes them."""

_ENGLISH = re.compile(
    rf"(?i:\d[{SPACES}]?[ap]\.?m\b)|(?<![\w.,-])\d[\w.,]{{0,12}}-[a-z]{{3,}}"
    r"|\b[A-Za-z]?[a-z]{2,}-\d{2}s\b"
)
"""English hours or joined words, which are copied into French: `8pm`, `14m-euro`."""

MAX_DIGITS = 40
"""Maximum digits of a number that is compared by its value; a longer one is by its digits."""

_JOINED = re.compile(r"(?<![\w-])\d[\d.,]{0,20}(?![mb]illi)[^\W\d_]{5,}")
"""Numbers joined with their nouns, as no language with spaces writes them."""

Commas = Literal["group", "decimal", "decimal, perhaps", "either"]
_DECIMAL = re.compile(r"\d+[.,]\d+")
_SPACED = re.compile(rf"\d{{1,3}}(?:[{SPACES}]\d{{3}})+")
_SIGN_BEFORE = re.compile(r"(?<![A-Z])[$€£¥₹]\d")

_VERSION_BEHIND = re.compile(
    r"[a-z]{1,5}\d|[ ](?:Linux|kernel|release|series|desktop|server|browser|beta)\b"
)
_VERSION_BEFORE = re.compile(
    r"(?<!\w)(?!(?:AUD|CAD|CHF|CNY|EUR|GBP|INR|JPY|USD?)[ ])"
    r"(?:\b(?P<kind>(?i:versions?|releases?|kernel|noyau|v|environment|server|desktop"
    r"|browser|library|toolkit|edition|beta|(?:sub)?sections?|chapters?|figures?|tables?|articles?"
    r"|(?:sub)?paragraphs?|(?:sub)?clauses?|rules?|appendix|annex|steps?|equations?|exercises?))"
    r"|(?<=[\w,)][ ])[^\W\d_a-zà-ÿ][\w+/-]*"
    r"|\A(?!(?:About|Add|Almost|Around|At|By|For|From|In|Nearly|Only|Over|Roughly|Some|The|Under)\b)"
    r"[^\W\d_a-zà-ÿ][\w+/-]*"
    r"|\b\w*[^\W\d_a-zà-ÿ][\w/]*[^\W\d_a-zà-ÿ][\w+-]*)[ ]"
    r"(?:\d[\d.]*(?:,|,?[ ](?:and|or|to|et|ou|à))[ ])*$"
)
"""A word for versions or parts of a text, or a name: a capital within a sentence, or two of them,
or the first word of one unless it may stand before an amount."""

_AMOUNT_BEHIND = re.compile(rf"[{SPACES}]?(?:[%°$€£¥]|per ?cent|\w*illi|(\w{{1,3}})\b)")
"""Signs, short words, which may be units, and millions and the like."""

_NO_NOUN_BEHIND = re.compile(
    r"\W?\s*\Z|[.,;:!?)\]»\"”…]"
    r"|[ ](?:and|or|is|are|was|were|has|have|had|can|will|may|must|should|does|did|adds|supports"
    r"|requires|introduces|introduced|says|applies|shows|et|ou|est|sont|était|a|ont|peut|doit)\b"
)
"""The end of a clause, a conjunction or a verb."""

_SIGNED = re.compile(r"(?<![^\s(\[«\"“=:;,])[-−–](?=[$€£¥₹]?\d)")
_MAY_BE_SIGN = re.compile(r"(?<![^\s(\[«\"“=:;,])[-−–]")
_MINUS_WORDS = {"minus", "moins", "menos", "meno", "min"}
_BELOW_ZERO = {
    language: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for language, words in {
        "de": r"minus|negativ\w*|unter\w*",
        "en": r"minus|negati\w*|below|sub-?zero|under",
        "es": r"menos|negativ\w*|bajo",
        "fr": r"moins|négati\w*|dessous|sous",
        "it": r"meno|negativ\w*|sotto",
        "nl": r"min|minus|negatie\w*|onder",
        "pt": r"menos|negativ\w*|abaixo",
    }.items()
}
_MINUS = re.compile(
    r"(?<!\bau )(?<!\bdu )(?<!\bde )(?<!\bou )(?<!heures )(?<!heure )(?<!midi )"
    rf"\b(?:{'|'.join(sorted(_MINUS_WORDS))})[ \u00a0](?=\d)",
    re.IGNORECASE,
)
"""A word for the sign of a negative number, in any of these languages."""


def may_have_sign(text: str) -> bool:
    """Whether a text may have a negative number."""
    return _MAY_BE_SIGN.search(text) is not None or not words_of(text).isdisjoint(_MINUS_WORDS)


def same_signs(one: str, other: str, languages: Sequence[str]) -> bool:
    """Whether as many numbers are negative, by a sign or a word of the text's language."""
    if not _BELOW_ZERO.keys() >= set(languages):
        return True
    counts = [
        len(_SIGNED.findall(text)) + len(_own_minus(text, language))
        for text, language in zip((one, other), languages, strict=True)
    ]
    if counts[0] == counts[1]:
        return True
    fewer = 0 if counts[0] < counts[1] else 1
    words = _BELOW_ZERO[languages[fewer]].findall((one, other)[fewer])
    # A word that stands before a number is counted already.
    return len(words) > len(_own_minus((one, other)[fewer], languages[fewer]))


def _own_minus(text: str, language: str) -> list[str]:
    found = (match[0].strip() for match in _MINUS.finditer(text))
    return [word for word in found if _BELOW_ZERO[language].fullmatch(word)]


def is_version(text: str, start: int, end: int, *, surely: bool = False) -> bool:
    """Whether a decimal may be no amount: `GNOME 2.4`, `version 3.1`, `1.0rc2`, `section 3.2`.

    surely  `Drink 1.5 litres` and `in Paris 2.5 inhabitants` are not: it could count a noun
    """
    if _VERSION_BEHIND.match(text, end) or re.search(
        r"[^\W\d_]-$", text[max(start - 2, 0) : start]
    ):
        return True
    before = _VERSION_BEFORE.search(text, max(0, start - 40), start)
    if not before or (surely and not before["kind"] and not _NO_NOUN_BEHIND.match(text, end)):
        return False
    behind = _AMOUNT_BEHIND.match(text, end)
    return behind is None or (behind[1] is not None and behind[1] not in unit_symbols())


def has_foreign_form(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether a number or amount is copied that the target language writes in another way."""
    if not NUMBER.search(translation):
        return False
    if _MISPLACED.search(translation) and not _MISPLACED.search(source):
        return True
    joined = (one[0] for one in _JOINED.finditer(translation))
    if any(one not in source and not FEW_SPACES.search(one) for one in joined):
        return True
    codes = [primary_language(code) for code in languages]
    if codes == ["en", "fr"] and any(one[0] in source for one in _ENGLISH.finditer(translation)):
        return True
    here, there = map(convention_of, languages)
    if here is None or there is None or codes[0] == codes[-1]:
        return False
    foreign = {
        number
        for number in NUMBER.findall(translation)
        if (
            _DECIMAL.fullmatch(number)
            and number.count(here.decimal) == 1
            and here.decimal != there.decimal
            and not (here.decimal == there.group and re.search(r"\D\d{3}$", number))
        )
        or (here.group == " " != there.group and _SPACED.fullmatch(number))
    }
    copied = (at for at in NUMBER.finditer(source) if at[0] in foreign) if foreign else ()
    if any(not is_version(source, *at.span()) for at in copied):
        return True
    if there.money == "behind" and here.money != "behind":
        return any(sign[0] in source for sign in _SIGN_BEFORE.finditer(translation))
    return False


def commas_of(language: str, *, is_strict: bool = False) -> Commas:
    """Return what a comma before three digits is.

    A French source may write 80,000 as English does, which a French translation must not.
    """
    if language == "en":
        return "group"
    if language == "fr":
        return "decimal" if is_strict else "decimal, perhaps"
    return "either"


def read_values(number: str, exponents: Sequence[int], commas: Commas) -> Iterator[tuple[str, ...]]:
    """Yield the values that each part of a number in digits may have; only a date has several."""
    if len(number) > MAX_DIGITS:
        yield (re.sub(r"\D", "", number),)
        return
    parts = re.split(r"[.,٫٬]", re.sub(rf"[{SPACES}'’]", "", number))
    marks = re.findall(r"[.,٫٬]", number)
    is_grouped = 0 < len(parts[0]) <= 3 and all(2 <= len(x) <= 3 for x in parts[1:-1])
    is_grouped = is_grouped and len(parts[-len(set(marks))]) == 3
    whole = is_grouped and len(set(marks)) == 1
    values: list[Decimal] = []
    if whole or not marks:
        values.append(Decimal("".join(parts)))
    if len(marks) == 1 or (is_grouped and len(set(marks)) == 2 and marks[-1] not in marks[:-1]):
        fraction = Decimal("".join(parts[:-1]) + "." + parts[-1])
        if not values or marks[0] != ",":
            values.append(fraction)
        elif commas == "decimal" or (commas == "decimal, perhaps" and not number.endswith("0")):
            values = [fraction]
        elif commas != "group":
            values.append(fraction)
    if not values:  # a date, or a version
        for part in parts:
            yield (_written(Decimal(part)),)
        return
    scaled = [value.scaleb(exponent) for value in values for exponent in exponents]
    yield tuple(map(_written, scaled or values))


def _written(value: Decimal) -> str:
    return f"{value.normalize():f}"
