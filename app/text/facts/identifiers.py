"""Finds telephone numbers, identifiers and coordinates, which are copied in every language.

Telephone numbers are validated by `phonenumbers`, numbers in groups of three by their check digit.
Other digits are an identifier if amounts are not written like them: mixed with letters, in groups
of a size other than three, with a leading zero, or very many.
"""

import re
from collections.abc import Iterator
from functools import cache

from app.text.cldr import SPACES
from app.text.spans import Span
from model.text.language_codes import primary_language

_DIGITS = re.compile(
    rf"(?<![\w+#@/.,:$€£¥₹'’-])(?:\+|\(\+?|00[{SPACES}])?\(?\d"
    rf"(?:[{SPACES}().‑/-]{{0,3}}\d){{6,29}}+(?!\w|[.,:/]\d|[{SPACES}]?[%€$£¥₹°])"
)
"""Seven digits or more, however they are grouped."""

_MIXED = re.compile(
    rf"(?<![\w@#$/.,-])(?=[A-Za-z/-]{{0,20}}\d|\d[\dA-Z-]*[A-Z])[A-Za-z\d]++(?:[-./_:][A-Za-z\d]++)*+"
    rf"(?:(?<=\d\d)(?<=[A-Z]{{2}}\d\d)(?:[{SPACES}][A-Z\d]{{2,4}}\b){{3,8}})?"
)
_IBAN = re.compile(r"[A-Z]{2}\d\d(?:[A-Z\d]{11,30})")
_WITH_LETTERS = re.compile(
    rf"(?<!\w)(?:(?:AT|B[EG]|C[HYZ]|D[EK]|E[ELS]|FI|FR|GB|H[RU]|I[ET]|L[TUV]|MT|NL|P[LT]|RO|S[EIK])"
    rf"[{SPACES}]\d{{2,3}}(?:[{SPACES}.]\d{{2,4}}){{2,4}}|\d{{1,4}}[{SPACES}](?:bis|ter|quater)"
    r"|[A-Z]{1,3}(?:[ ]\d\d){2,6}(?:[ ][A-Z]{1,2})?|[A-Z]{1,2}\d[A-Z\d]?[ ]\d[A-Z]{2}"
    r"|[A-Z]\d[A-Z][ ]\d[A-Z]\d"
    rf"|(?!(?:AD|BC|CE|BCE|[A-Z]{{2}}[DFKLPRY]|EUR)\b)[A-Z]{{2,4}}[ ]\d{{3,5}})"
    r"(?![\w.,:/-]\d|\w)"
)
"""VAT numbers in groups, behind the code of their country, numbers of houses, national insurance
numbers, postcodes, and numbers behind an abbreviation: trains, flights, standards, but no
currencies or eras."""

_MODEL = re.compile(r"(?<![\w.-])[a-z]{1,12}\d{1,3}[a-z]{1,12}(?!\w)")
"""A word with digits within, in lower case: `w3m`, `k8s`."""

_DOTTED_TIME = re.compile(
    rf"(?<=\b[Aa]t )(?:1?\d|2[0-3])\.[0-5]\d(?![\w%]|[.,]\d|[{SPACES}](?:[ap]\.?m|[%$€£]|\w+s\b))"
    rf"|(?<=[àÀ] )(?:1?\d|2[0-3])\.[0-5]\d(?![\w%]|[.,]\d|[{SPACES}](?:[%$€£]|\w+s\b))"
)
"""A time of day or a price. Readers understand either as it is written."""

_DEGREES_OR_INCHES = re.compile(
    rf"(?<!\w)\d{{1,3}}°[{SPACES}]?\d\d?['’′]"
    rf"(?:[{SPACES}]?\d\d?(?:[.,]\d+)?(?:[\"”″]|''))?[{SPACES}]?[NSEWO]\b"
    rf"|(?<![\w.])-?\d{{1,3}}\.\d{{4,}},[ ]?-?\d{{1,3}}\.\d{{4,}}(?![.\d])"
    r"|(?P<inches>(?<![\w.,'’/-])(?:\d['’′][ ]?)?\d{1,4}(?:[.,]\d\d?)?(?:(?:[ -]?\d)?/\d{1,2})?"
    r"\"(?![\w\"]))"
    r"|[\"\n]"
)
"""Coordinates, lengths in feet and inches, and the other quotation marks and lines."""

_LABELLED = re.compile(
    r"(?:№|\bn[o°º]\.?|#|\b(?:number|numéro|code|order|commande|ref(?:erence)?|réf(?:érence)?|ticket"
    r"|serial|série|invoice|facture|dossier|case|account|compte|tracking|suivi|colis|parcel|pin"
    rf"|(?:password|passe|unique)[{SPACES}](?:is|est)"
    rf"|Nummer|número|numero|nummer))[{SPACES}:]{{1,3}}(?=\d)",
    re.IGNORECASE,
)
_CODE = re.compile(
    rf"\b(?:code|pin|password|passe)[{SPACES}](?:is|est)[{SPACES}:]+(\d{{3}}[{SPACES}]\d{{3}})(?![\w.,-]?\d)",
    re.IGNORECASE,
)
_SPACED_THREES = re.compile(rf"\d{{1,3}}(?:[{SPACES}]\d{{3}})+")
_MARKED_THREES = re.compile(r"\d{1,3}(?:(?:\.\d{3})+|(?:['’]\d{3})+)")
_DATE = re.compile(
    r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{4}[ ]?[-/–][ ]?\d{4}"
    rf"|\d{{1,2}}([./-])\d{{1,2}}\3\d{{2,4}}(?:[{SPACES}–]+.*)?|\d{{4}}([-/.])\d{{1,2}}\4\d{{1,2}}.*"
)
_WHOLE_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}|\d{4}([-/.])\d\d\2\d\d")
"""A date in digits: the order of its parts is unknown, so that it stays as it is."""

_COUNTED = re.compile(rf"[{SPACES}][^\W\d_]{{4,}}")
"""A noun behind a number, which says what it counts."""

_UNIT_LIKE = re.compile(
    r"\d+(?:[.,]\d+)?(?:[-x×]\d+)*-?[A-Za-zµ]{1,3}\d?|\d+(?:st|nd|rd|th|er|re|e|ème|nde?|de)s?|[12]?\d\d0s"
    r"|\d+[hH]\d*|[Qq]\d|\d+x\d+"
)
_UNIONS = {"EC", "EEC", "EU", "CE", "CEE", "UE", "EG", "EWG"}
MIN_UNGROUPED = 8
"""Digits of a number without groups from which on it counts nothing."""


def find_identifiers(text: str, language: str) -> Iterator[Span]:
    """Yield the spans of telephone numbers and identifiers, in order and disjoint."""
    found = [
        *_of_digits(text, language),
        *_of_letters_and_digits(text),
        *_of_degrees_and_inches(text),
    ]
    found.sort(key=lambda span: (span.start, -span.end))
    end = 0
    for span in found:
        if span.start >= end:
            yield span
            end = span.end


def _of_digits(text: str, language: str) -> Iterator[Span]:
    for match in _DIGITS.finditer(text):
        written = match[0]
        start, end = match.span()
        if written.count("(") > written.count(")"):
            start += written.index("(") + 1 if written.startswith(("(", "+(")) else 0
            written = text[start:end]
        if _DATE.fullmatch(written):
            if _WHOLE_DATE.fullmatch(written):
                yield Span(start, end)
            continue
        digits = re.sub(r"\D", "", written)
        is_counted = _COUNTED.match(text, end) is not None
        if _is_identifier(written, digits) or (
            not is_counted and _is_valid(written, digits, language)
        ):
            yield Span(start, end)
    for match in _WITH_LETTERS.finditer(text) if not text.isupper() else ():
        yield Span(*match.span())
    for match in _DOTTED_TIME.finditer(text):
        yield Span(*match.span())
    for match in _CODE.finditer(text):
        yield Span(*match.span(1))
    for match in _LABELLED.finditer(text):
        number = re.compile(r"(?:\d{4,}|\d{3}-\d{3})(?![\w.,-]\d|\w)").match(text, match.end())
        if number:
            yield Span(*number.span())


def _of_degrees_and_inches(text: str) -> Iterator[Span]:
    """Yield coordinates, and lengths in inches where no quotation of the line is open."""
    is_open = False
    for match in _DEGREES_OR_INCHES.finditer(text):
        if len(match[0]) > 1 and not (match["inches"] and is_open):
            yield Span(*match.span())
        else:
            is_open = match[0][-1] == '"' and not is_open


def _is_identifier(written: str, digits: str) -> bool:
    """Whether amounts are written differently in all languages."""
    if written == digits:
        return digits[0] == "0" or (len(digits) >= MIN_UNGROUPED and not digits.endswith("000"))
    if written[0] in "+(":
        return True
    if _SPACED_THREES.fullmatch(written) or _MARKED_THREES.fullmatch(written):
        return written[0] == "0"
    groups = re.split(r"\D+", written)
    if len(groups) == 2:  # a range, unless it is written as local telephone numbers are
        first, last = groups
        is_local = re.fullmatch(r"\d{3}-\d{4}", written) is not None
        return is_local or "0" in (first[0], last[0]) or len(first) >= MIN_UNGROUPED
    return True


def _is_valid(written: str, digits: str, language: str) -> bool:
    """Whether it has a check digit or is a telephone number of a country of the language."""
    if _MARKED_THREES.fullmatch(written):
        return False
    if len(digits) == 9 and _SPACED_THREES.fullmatch(written) and _has_check_digit(digits):
        return True
    return any(_is_telephone(written, region) for region in _regions(primary_language(language)))


def _is_telephone(written: str, region: str) -> bool:
    import phonenumbers

    try:
        number = phonenumbers.parse(written, region)
    except phonenumbers.NumberParseException:
        return False
    if not phonenumbers.is_valid_number(number):
        return False
    # Digits in threes are an amount unless the country groups telephone numbers so.
    if not _SPACED_THREES.fullmatch(written):
        return True
    national = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return re.findall(r"\d+", national) == re.findall(r"\d+", written)


def _has_check_digit(digits: str) -> bool:
    """Whether the last digit is that of Luhn's formula (ISO/IEC 7812-1), as in a French SIREN."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0


@cache
def _regions(language: str) -> tuple[str, ...]:
    """The regions where a language is most spoken, first the one that CLDR says likeliest."""
    from babel.core import get_global

    if language in _MORE_REGIONS:
        return _MORE_REGIONS[language]
    likely = get_global("likely_subtags").get(language, "")
    region = likely.rpartition("_")[2]
    return (region,) if len(region) == 2 else ()


_MORE_REGIONS = {
    "en": ("US", "GB", "AU", "IN"),
    "fr": ("FR", "BE", "CH"),
    "de": ("DE", "AT", "CH"),
    "es": ("ES", "MX", "AR"),
    "pt": ("BR", "PT"),
}


def _of_letters_and_digits(text: str) -> Iterator[Span]:
    for match in _MODEL.finditer(text):
        yield Span(*match.span())
    for match in _MIXED.finditer(text):
        token = match[0].rstrip("-./_:")
        if token and _is_mixed_identifier(token):
            yield Span(match.start(), match.start() + len(token))


def _is_mixed_identifier(token: str) -> bool:
    compact = re.sub(rf"[{SPACES}]", "", token)
    if _IBAN.fullmatch(compact):
        return True
    parts = re.split(r"[-./_:]", token)
    if parts[-1] in _UNIONS:  # 94/57/EC is 94/57/CE in French
        return False
    n_digits = sum(map(str.isdecimal, token))
    if re.fullmatch(r"\d{1,2}[BDEGJPQRUXYZ]", token):  # a gate, a seat, a dimension
        return True
    if not (n_digits and any(map(str.isalpha, token))) or _UNIT_LIKE.fullmatch(token):
        return False
    if n_digits == 1:
        return re.fullmatch(r"[A-Z]+\d[A-Z]+", token) is not None
    if any(part.isalpha() and (part[1:].islower() or len(part) > 10) for part in parts):
        return False  # 90-year-old, mid-2019, Boeing-747
    turns = len(re.findall(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d", token))
    if any(map(str.isupper, token)):
        return n_digits >= 3 or turns >= 2 or (len(parts) > 2)
    return turns >= 3 and len(token) >= 6
