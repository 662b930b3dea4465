"""Compares the numbers in digits of a source and its translation by value.

Differences of notation are ignored: separators, the order of dates, clocks of 12 and 24 hours,
digits of other scripts, the position of symbols and units, and English and French number words. A
time must be in the same half of the day if the text names it, and a negative number stays negative.
If a number can be read in two ways ("1,234"), both are accepted, unless its language has only one.
If a language's number words are unknown, a small number may be missing, because it may have become
a word, and a.m. and p.m. are not compared.
"""

from collections import defaultdict
from collections.abc import Sequence

from app.text.facts.numbers import (
    UNCOUNTED,
    Quantity,
    has_digit,
    quantities_in,
    with_digits,
    with_western_digits,
)
from app.text.facts.quantities.clock_times import is_length_of_time, mixes_clocks, names_half
from app.text.facts.quantities.lengths_of_time import in_minutes
from app.text.facts.quantities.number_marks import has_foreign_form, may_have_sign, same_signs
from app.text.facts.quantities.number_words import spelt_out
from app.text.facts.quantities.units import is_checked, is_symbol, names_unit
from model.text.language_codes import primary_language

_LANGUAGES_OF_WORDS = {"en", "fr"}
MAX_IN_WORDS = 100
"""The largest number that may be in digits on one side and a word of an unknown language on the
other; thousands and millions may be, too."""


def same_numbers(source: str, translation: str, languages: Sequence[str] = ("en", "fr")) -> bool:
    """Whether each number in digits of one text is in the other, equally often.

    languages  codes of both texts: words for numbers are known in English and French
    """
    one, other = with_western_digits(source), with_western_digits(translation)
    if not (has_digit(source, translation) or spelt_out(source, languages[0])):
        return True
    if _equal(one, other, languages):
        return True
    texts = (one, other)
    digits = [with_digits(text, code) for text, code in zip(texts, languages, strict=True)]
    lengths = [in_minutes(text, code) for text, code in zip(digits, languages, strict=True)]
    return lengths != digits and _equal(lengths[0], lengths[1], languages)


def _equal(one: str, other: str, languages: Sequence[str]) -> bool:
    """Whether the numbers are the same, each length of time by the units that it has."""
    spoken = [primary_language(code) for code in languages]
    knows_words = _LANGUAGES_OF_WORDS.issuperset(spoken)
    if mixes_clocks(other) and not mixes_clocks(one):
        return False
    if is_length_of_time(one) and (
        (names_half(other) and not names_half(one))
        or names_unit(other, ("duration-hour",), languages[-1]) is False
    ):
        return False
    if has_foreign_form(one, other, languages):
        return False
    read = quantities_in(one, languages[0], knows_words, False)
    written = quantities_in(other, languages[-1], knows_words, True)
    if not (
        _same_units(read, written, other, languages[-1])
        and _same_units(written, read, one, languages[0])
    ):
        return False
    lost, added = _without_equals(read, written)
    if not (lost or added):
        if not (may_have_sign(one) or may_have_sign(other)):
            return True
        return same_signs(with_digits(one, languages[0]), with_digits(other, languages[-1]), spoken)
    return not knows_words and not (lost and added) and all(map(_may_be_word, [*lost, *added]))


def _same_units(
    one: Sequence[Quantity], other: Sequence[Quantity], translation: str, language: str
) -> bool:
    """Whether what the numbers of one text count is counted in the other, and nothing else."""
    counted = {name for quantity in other for name in _family(quantity.unit)}
    by_reading: dict[str, set[tuple[frozenset[str], bool]]] = defaultdict(set)
    for quantity in other:
        for reading in quantity.readings:
            by_reading[reading].add((quantity.unit, quantity.in_digits))
    for unit, written, readings in {(x.unit, x.written, x.readings) for x in one if x.written}:
        found = {another for reading in readings for another in by_reading.get(reading, ())}
        if not found or any(_family(another) & _family(unit) for another, _ in found):
            continue
        if not is_checked(written, unit) and all(another == UNCOUNTED for another, _ in found):
            continue
        bare = [in_digits for another, in_digits in found if not another]
        if bare and not (is_checked(written, unit) and all(bare)):
            continue
        named = names_unit(translation, unit, language)
        if named is False:
            return False
        if named and bare and is_symbol(written) and not _family(unit) & {*counted, "temperature"}:
            return False  # it is there, but beside no number
    return True


def _family(units: frozenset[str]) -> set[str]:
    """The units, and their kind for temperatures, which are often written as mere degrees."""
    return {"temperature" if unit.startswith("temperature") else unit for unit in units}


def _without_equals(
    one: Sequence[Quantity], other: Sequence[Quantity]
) -> tuple[list[Quantity], list[Quantity]]:
    """Return the numbers in digits of either that the other lacks.

    Each takes a number of its own in the other, one in digits if there is one.
    """
    waiting: dict[str, list[int]] = defaultdict(list)
    for index in sorted(range(len(other)), key=lambda index: other[index].in_digits):
        for reading in other[index].readings:
            waiting[reading].append(index)
    taken: set[int] = set()
    lost: list[Quantity] = []
    for quantity in sorted(one, key=lambda quantity: not quantity.in_digits):
        found = _free(quantity, other, waiting, taken)
        if found is not None:
            taken.add(found)
        elif quantity.in_digits:
            lost.append(quantity)
    free = (quantity for index, quantity in enumerate(other) if index not in taken)
    return lost, [quantity for quantity in free if quantity.in_digits]


def _may_be_word(quantity: Quantity) -> bool:
    """Whether a number is one that many languages write as a word in running text."""
    return any(
        reading.isdigit() and (int(reading) <= MAX_IN_WORDS or reading.strip("0") == "1")
        for reading in quantity.readings
    )


def _free(
    quantity: Quantity, other: Sequence[Quantity], waiting: dict[str, list[int]], taken: set[int]
) -> int | None:
    """Return a number of the other text that a number may be, one in digits if there is one."""
    found: int | None = None
    for reading in quantity.readings:
        places = waiting.get(reading, [])
        while places and places[-1] in taken:
            places.pop()
        if places and (found is None or other[places[-1]].in_digits):
            found = places[-1]
            if other[found].in_digits:
                break
    return found
