"""Numbers in words, found by text2num."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from app.text.cldr import month_names
from app.text.facts.quantities.multiples import MULTIPLES, multiples
from app.text.remembered import remembered
from model.text.language_codes import primary_language

_LANGUAGES = {"de", "en", "es", "fr", "it", "nl", "pt"}
"""Languages whose number words are read."""


def _table(*rows: tuple[str, Sequence[int]]) -> dict[str, int]:
    return {
        word: value
        for words, values in rows
        for word, value in zip(words.split(), values, strict=True)
    }


PARTS = _table(
    (
        "second seconde secondes tiers half halves quarter quarters quart quarts",
        (2, 2, 2, 3, 2, 2, 4, 4, 4, 4),
    ),
    ("nonante septante huitante octante", (90, 70, 80, 80)),
)
"""Words of English and French for parts and ranks that text2num does not have."""

_OTHERS = PARTS | _table(
    ("dozen douzaine dizaine dizaines tens quinzaine vingtaine trentaine quarantaine cinquantaine",
     (12, 12, 10, 10, 10, 15, 20, 30, 40, 50)),
    ("soixantaine centaine centaines hundreds cents millier milliers thousands once twice",
     (60, 100, 100, 100, 100, 1000, 1000, 1000, 1, 2)),
    ("moitié demi demie midi noon minuit midnight fortnight", (2, 2, 2, 12, 12, 0, 0, 15)),
    ("fiver tenner", (5, 10)),
    ("twenties thirties forties fifties sixties seventies eighties nineties",
     (20, 30, 40, 50, 60, 70, 80, 90)),
)  # fmt: skip
"""Words of English and French that say a number but are none."""

_CENTS = ("cent", "percent", "pourcent", "prozent", "procent", "ciento")
"""Words of percentages."""

WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"\w+|[^\w\s-]")
MAX_WORDS = 20_000
"""Words of a language that are remembered to say no number."""

_LARGE = {"million": 6, "billion": 9, "milliard": 9}
_HALF = re.compile(
    r"\b(?:half[ -]an?|un[ -]demi|half)[ -](million|billion|milliard)\b", re.IGNORECASE
)


@remembered
def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case; digits divide them."""
    return frozenset(WORD.findall(text.lower()))


class Spelt(NamedTuple):
    """A number in words, and its span."""

    value: int
    is_ordinal: bool
    start: int
    end: int


class _Token:
    """A word as text2num reads it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self) -> str:
        return self._text

    def nt_separated(self, _previous: object) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return not self._text[0].isalpha()


class _Vocabulary:
    """The words of a language that say a number, found one by one, since text2num has no list.

    Each number in words has a word that is one by itself, such as `twenty` and `one`.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._numbers = {*_OTHERS, *_CENTS, *MULTIPLES.get(language, ())}
        self._small = set[str]()
        self._plain = set[str]()

    def has_number(self, text: str, *, is_small: bool) -> bool:
        """Whether a word of a text says a number, perhaps only zero or one."""
        words = words_of(text) - self._plain
        if not words:
            return False
        if len(self._plain) > MAX_WORDS:
            self._plain = set()
        for word in words.difference(self._numbers, self._small):
            self._kind(word).add(word)
        return not words.isdisjoint(self._numbers) or (
            is_small and not words.isdisjoint(self._small)
        )

    def _kind(self, word: str) -> set[str]:
        from text_to_num import find_numbers

        found = find_numbers([_Token(word)], self._language, threshold=0)
        if not found:
            return self._plain
        return self._small if found[0].value < 2 else self._numbers


_vocabulary = cache(_Vocabulary)


def says_number(text: str, language: str, *, is_small: bool = False) -> bool:
    """Whether a text may say a number in words: a cardinal, an ordinal, a part or a dozen.

    is_small  whether zero and one count, which are often articles
    """
    code = primary_language(language)
    return code in _LANGUAGES and _vocabulary(code).has_number(text, is_small=is_small)


def knows_words_of(language: str) -> bool:
    """Whether numbers in a language's words are read."""
    return primary_language(language) in _LANGUAGES


@remembered
def spelt_out(text: str, language: str) -> tuple[Spelt, ...]:
    """Return the whole numbers in words of a text, each as one: `forty-two` is 42."""
    code = primary_language(language)
    if not says_number(text, language, is_small=True):
        return ()
    from text_to_num import find_numbers

    halves = [
        Spelt(10 ** _LARGE[half[1].lower()] // 2, False, *half.span())
        for half in _HALF.finditer(text)
    ]

    words = list(_TOKEN.finditer(text))
    found = find_numbers([_Token(word[0]) for word in words], code, threshold=0)
    spelt = [
        Spelt(int(one.value), one.is_ordinal, words[one.start].start(), words[one.end - 1].end())
        for one in found
        if one.value == int(one.value)
        and words[one.start][0][0].isalpha()
        and not (one.start and words[one.start - 1][0][-1].isdecimal())  # "3 million" has digits
    ]
    larger = [*halves, *_multiplied(text, language, spelt)]
    return (
        *larger,
        *(
            one
            for one in spelt
            if not any(one.start < many.end and many.start < one.end for many in larger)
        ),
    )


def _multiplied(text: str, language: str, spelt: Sequence[Spelt]) -> Iterator[Spelt]:
    """Yield the numbers with a noun that multiplies them: `two dozen` is 24."""
    before = {one.end + 1: one for one in spelt if not one.is_ordinal}
    for noun in multiples(text, language):
        if number := before.get(noun.start):
            yield Spelt(number.value * noun.value, False, number.start, noun.end)
        elif noun.is_one:
            yield Spelt(noun.value, False, noun.start, noun.end)


def numbers_in_words(text: str, language: str) -> Iterator[int]:
    """Yield what the words of a text may say: numbers, ordinals, months, halves and dozens."""
    for spelt in spelt_out(text, language):
        yield spelt.value
    yield from other_numbers_in_words(text, language)


def other_numbers_in_words(text: str, language: str) -> Iterator[int]:
    """Yield the values of words other than whole numbers: months, halves and dozens."""
    values = _other_numbers(language)
    if words_of(text).isdisjoint(values):
        return
    for word in WORD.finditer(text):
        value = values.get(word[0].casefold())
        if value is not None:
            yield value


@cache
def _other_numbers(language: str) -> Mapping[str, int]:
    code = primary_language(language)
    foreign = {word for other, words in MULTIPLES.items() if other != code for word in words}
    known = code in MULTIPLES
    others = {word: value for word, value in _OTHERS.items() if not (known and word in foreign)}
    return {**month_names(language), **others}
