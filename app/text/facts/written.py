"""Finds facts whose form depends on the language, and writes each for another language.

Facts that a model gets wrong are replaced by stand-ins and restored in the form of the target
language by the CLDR: numbers, amounts with their scale, unit or currency, times of day, lengths of
time, ordinals, years of an era. Ambiguous ones stay as they are written: dates, versions,
fractions, codes, digits of other scripts, numbers that the source language does not write like
this, and all numbers of a language without a convention.
"""

import itertools
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from app.text.cldr import SPACES, Convention, convention_of, scale_name, unit_pattern, unit_symbols
from app.text.facts.quantities.currencies import currency_noun
from app.text.facts.quantities.multiples import linked_noun, multiple_at
from app.text.facts.quantities.number_marks import is_version
from app.text.facts.quantities.units import PERCENT, Unit, scale_at, unit_at
from app.text.facts.ranks import RAISED, is_roman, names_day, ordinal_in, roman_numerals
from app.text.facts.relations import ratios_written
from app.text.facts.written_words import (
    TIME,
    NumberForm,
    eras_written,
    noun_of_slang,
    words_written,
    written_time,
)
from model.text.language_codes import primary_language

_LETTER = "A-Za-z"
_SIGN = r"(?:[A-Z]{0,2}[$€£¥₹₽₩₺₴₫₪₱฿])"
_PLAIN = rf"(?>\d{{1,3}}(?:[{SPACES}'’]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
_RANK = rf"\d{{1,3}}(?:[,{SPACES}]\d{{3}})+|\d{{1,4}}"
_EXPRESSION = re.compile(
    rf"""
    (?<![\d{_LETTER}])(?:(?<![^\s(\[])(?P<minus>[-−]|(?:minus|moins|menos|meno)[{SPACES}])(?=[\d$€£¥]))?(?:
      (?P<phone> \+?\d+(?:[ .-]\d{{2,4}}){{3,}}+(?![.,]?\d) | \+\d+(?:[ .-]?\d+)+ )
    | (?P<time> {TIME} )
    | (?P<ordinal> (?P<rank>{_RANK})(?:st|nd|rd|th|er|re|e|ère|ème)(?![^\W_]) )
    | (?P<chain> {_PLAIN}(?:[/:×–-]{_PLAIN})+ )
    | (?P<before> (?P<sign>{_SIGN})[{SPACES}]?(?P<amount>{_PLAIN}) )
    | (?P<code> (?:[A-Z][{_LETTER}]{{0,9}}-?|[{_LETTER}]{{1,3}})\d[\d{_LETTER}]* )
    | (?P<number> {_PLAIN} )
    | (?P<roman> (?-i:(?![LC]e\b)[IVXLC]{{1,8}})
                 (?P<suffix>(?:er?|[eè]?re|i?[eè]me|th|st|nd|rd)\b)?(?!\w))
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NO_UNIT_BEHIND = re.compile(rf"[{_LETTER}]{{1,3}}(?![^\W_])")
_NAME_BEFORE = re.compile(rf"\b[A-ZÀ-Ý]\w+[{SPACES}]$")
_OF = {"fr": "de", "es": "de", "pt": "de", "ca": "de", "gl": "de", "it": "di", "ro": "de"}
"""Text between a large number and its noun."""

_ELIDED = {"fr", "ca"}
_UNWRITTEN = {
    "length-yard", "length-inch", "mass-pound", "mass-ounce", "length-foot", "length-mile",
}  # fmt: skip
"""Units whose symbols are not known where they are not used: written out."""


def number_forms(
    text: str, source: str, target: str, *, with_nouns: bool = False
) -> list[NumberForm]:
    """Return the facts of a text in order, each as the target language writes it.

    Languages are codes such as `en` or `pt-BR`. Units that are words are part of their amount only
    `with_nouns`: the words around them agree with them.
    """
    text = text.translate(RAISED)
    here, there = convention_of(source), convention_of(target)
    matches = [one for one in _EXPRESSION.finditer(text) if not one["roman"] or _is_numeral(one)]
    if here is None or there is None:
        return [NumberForm(*match.span(), match[0]) for match in matches]
    pair = _Pair(source, target, here, there)
    found = [_Writer(match, pair, with_nouns=with_nouns).form() for match in matches]
    ratios = itertools.starmap(NumberForm, ratios_written(text, source, target))
    words = words_written(text, source, target, there)
    for more in (eras_written(text, source, target), words, ratios):
        found = _without_overlaps([*more, *found])
    return found


def _without_overlaps(forms: Sequence[NumberForm]) -> list[NumberForm]:
    """Return the forms in order; if some overlap, the longest of them."""
    kept: list[NumberForm] = []
    for one in sorted(forms, key=lambda form: (form.start, -form.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
        elif one.end - one.start > kept[-1].end - kept[-1].start:
            kept[-1] = one
    return kept


def _is_numeral(match: re.Match[str]) -> bool:
    return is_roman(match["roman"].removesuffix(match["suffix"] or "")) and (
        match["suffix"] is not None or len(match["roman"]) > 1
    )


class _Pair(NamedTuple):
    """Two languages and their conventions."""

    source: str
    target: str
    here: Convention
    there: Convention


class _Writer:
    """Writes what an expression has found."""

    def __init__(self, match: re.Match[str], pair: _Pair, *, with_nouns: bool) -> None:
        self._match = match
        self._source, self._target, self._here, self._there = pair
        self._with_nouns = with_nouns
        self._text = match.string

    def form(self) -> NumberForm:
        match = self._match
        start, end = match.span()
        if any(one.isdecimal() and not one.isascii() for one in match[0]):
            return NumberForm(start, end, match[0])
        minus = match["minus"] or ""
        minus = minus if len(minus) < 2 else "-"
        if match["time"]:
            written = written_time(match, self._target)
            if written is not None:
                return NumberForm(start, end, minus + written)
            return NumberForm(start, end, minus + self._length_of_time())
        if match["ordinal"]:
            return NumberForm(start, end, minus + self._ordinal())
        if match["roman"]:
            return NumberForm(start, end, self._roman())
        if match["chain"]:
            written = re.sub(_PLAIN, lambda one: self._number(one[0]), match[0])
            return NumberForm(start, end, written)
        if match["before"]:
            return self._counted(minus, match["amount"], match["sign"])
        if match["number"]:
            return self._counted(minus, match["number"], None)
        return NumberForm(start, end, match[0])

    def _counted(self, minus: str, number: str, sign: str | None) -> NumberForm:
        """Write a number with its scale and what it counts."""
        start, end = self._match.span()
        text, written = self._text, self._number(number)
        start_of_number = end - len(number)
        is_name = "." in number and not sign and is_version(text, start_of_number, end, surely=True)
        written = number if is_name else written
        value = self._value(number)
        if is_name or value is None or re.compile(r"['’]?s\b").match(text, end):
            return NumberForm(start, end, minus + self._with_sign(written, sign))
        if many := multiple_at(text, end + 1, self._source):
            written, link = self._digits(value * many.value), linked_noun(text, many.end)
            return NumberForm(start, many.end + len(link), minus + written + " " * bool(link))
        scale = scale_at(text, end, self._source, is_money=sign is not None)
        unit = unit_at(text, scale.end if scale else end, self._source)
        counted = text[unit.start : unit.end] if unit else ""
        is_word = counted.isalpha() and counted not in unit_symbols()
        money = sign or self._currency(unit, is_word)
        if scale is not None:
            exponent = scale.exponents[0]
            if money and money[-1] in "$€£¥₹":
                stop = scale.end if sign or unit is None else unit.end
                if large := self._large(written, value, exponent, money):
                    return NumberForm(start, stop, minus + large)
            if not text[end : scale.end].strip(SPACES + "-").isalpha() or scale.end - end < 4:
                return NumberForm(start, scale.end, minus + self._digits(value.scaleb(exponent)))
            return NumberForm(start, end, minus + self._with_sign(written, sign))
        if sign or unit is None:
            if not sign and _NO_UNIT_BEHIND.match(text, end):
                end = self._joined_end(end)
                return NumberForm(start, end, text[start:end])
            return NumberForm(start, end, minus + self._with_sign(written, sign))
        if self._with_nouns and (noun := noun_of_slang(unit, value, self._target)):
            return NumberForm(start, unit.end, f"{minus}{written} {noun}")
        if money and not is_word:
            return NumberForm(start, unit.end, minus + self._with_sign(written, money))
        if unit.names == {PERCENT}:
            return NumberForm(start, unit.end, minus + self._percent(written))
        if is_word and not (self._with_nouns and len(unit.names) == 1):
            return NumberForm(start, end, minus + written)
        return NumberForm(start, unit.end, minus + self._measure(written, value, unit, is_word))

    def _currency(self, unit: Unit | None, is_word: bool) -> str | None:
        if unit is None:
            return None
        word = self._text[unit.start : unit.end]
        signs = [name for name in unit.names if len(name) == 1 and name in "$€£¥₹"]
        return (word if not is_word and word in signs else signs[0]) if signs else None

    def _large(self, written: str, value: Decimal, exponent: int, sign: str) -> str | None:
        """Write an amount of money with a large scale."""
        found = scale_name(exponent, value, self._target)
        if found is None:
            return self._with_sign(self._digits(value.scaleb(exponent)), sign)
        word, size = found
        if size < exponent:
            written = self._digits(value.scaleb(exponent - size))
        elif exponent == 12 and primary_language(self._target) == "fr":
            # Billions of 10¹² are rare in French, and often those of English.
            written, word = self._digits(value.scaleb(3)), "milliards"
        noun = currency_noun(sign[-1], value.scaleb(exponent), self._target)
        language = primary_language(self._target)
        if language in _OF and noun:
            is_elided = language in _ELIDED and noun[0] in "aeiouhé"
            of = "d'" if is_elided else f"{_OF[language]} "
            return f"{written} {word} {of}{noun}"
        if self._there.money == "behind":
            return f"{written} {word} {sign}"
        return f"{sign}{written} {word}"

    def _measure(self, written: str, value: Decimal, unit: Unit, is_word: bool) -> str:
        [name, *others] = sorted(unit.names)
        source_form = self._text[self._match.end() : unit.end]
        if others or "-" not in name or source_form.endswith(("bps", "b/s", "bit/s")):
            return written + source_form
        is_short = not is_word and name not in _UNWRITTEN
        if name == "duration-hour":
            is_short = primary_language(self._target) == "fr"
        pattern = unit_pattern(name, value, self._target, is_short=is_short)
        return pattern.replace("{0}", written) if pattern else written + source_form

    def _length_of_time(self) -> str:
        hours = Decimal(self._match["hour"])
        minutes = self._match["m"] or self._match["minutes"]
        is_short = primary_language(self._target) == "fr"
        pattern = unit_pattern("duration-hour", hours, self._target, is_short=is_short)
        if pattern is None:
            return self._match["time"]
        written = pattern.replace("{0}", str(hours))
        if not minutes:
            return written
        if is_short:
            return f"{written} {minutes}"
        value = Decimal(minutes)
        rest = unit_pattern("duration-minute", value, self._target, is_short=False) or "{0}"
        return f"{written} {rest.replace('{0}', str(value))}"

    def _percent(self, number: str) -> str:
        return f"{number}%" if self._there.money == "before" else f"{number} %"

    def _with_sign(self, number: str, sign: str | None) -> str:
        if sign is None:
            return number
        if self._there.money == "behind":
            return f"{number} {sign}"
        return f"{sign}{number}" if self._there.money == "before" else f"{sign} {number}"

    def _number(self, number: str) -> str:
        """Exchange the marks of a number; unchanged if the source language does not write it so."""
        parts = self._parts(number)
        if parts is None:
            return number
        integer, fraction = parts
        return integer if fraction is None else f"{integer}{self._there.decimal}{fraction}"

    def _parts(self, number: str) -> tuple[str, str | None] | None:
        here = self._here
        group = f"[{SPACES}]" if here.group == " " else re.escape(here.group)
        whole = rf"\d{{1,3}}(?:{group}\d{{3}})+|\d+"
        match = re.fullmatch(rf"({whole})(?:{re.escape(here.decimal)}(\d+))?", number)
        return match and (re.sub(group, self._there.group, match[1]), match[2])

    def _value(self, number: str) -> Decimal | None:
        parts = self._parts(number)
        if parts is None or len(number) > 40:
            return None
        return Decimal(f"{re.sub(r'[^0-9]', '', parts[0])}.{parts[1] or 0}").normalize()

    def _digits(self, value: Decimal) -> str:
        whole, _, fraction = f"{value.normalize():,f}".partition(".")
        whole = whole.replace(",", self._there.group)
        return f"{whole}{self._there.decimal}{fraction}" if fraction else whole

    def _ordinal(self) -> str:
        rank = int(re.sub(r"\D", "", self._match["rank"]))
        digits = f"{rank:,}".replace(",", self._there.group)
        in_french = primary_language(self._target) == "fr"
        if rank > 1 and in_french and names_day(self._text, *self._match.span()):
            return digits
        return ordinal_in(rank, digits, self._target) or self._match["ordinal"]

    def _roman(self) -> str:
        """Write a numeral as it is; an ordinal of a century in digits in English."""
        numeral, suffix = self._match["roman"], self._match["suffix"]
        if suffix is None:
            return numeral
        letters = numeral.removesuffix(suffix)
        century = unit_at(self._text, self._match.end(), self._source)
        if century is None and _NAME_BEFORE.search(self._text, 0, self._match.start()):
            return letters
        if primary_language(self._target) == "fr":
            return f"{letters}{'er' if letters == 'I' else 'e'}"
        rank = next((value for _, value in roman_numerals(letters)), 1)  # I is a pronoun, too
        return ordinal_in(rank, str(rank), self._target) or numeral

    def _joined_end(self, end: int) -> int:
        while end < len(self._text) and self._text[end].isalnum():
            end += 1
        return end
