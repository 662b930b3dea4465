"""Patterns that are tried only on texts with certain words match no others."""

import re
from collections.abc import Set
from pathlib import Path

import pytest

from app.text.facts import dates, spelt
from app.text.facts.quantities import clock_times, number_marks, worded_times
from app.text.facts.quantities.number_words import words_of

SENTENCES = (Path(__file__).parent / "sentences.tsv").read_text(encoding="utf-8").splitlines()
OTHERS = [
    "C’était une douzaine d'œufs, une quinzaine de jours, une SOIXANTAINE d’élèves.",
    "half past ten, ten to six, a quarter past 8, twenty-five past two, Five past noon",
    "deux heures et demie, midi moins le quart, 8 h moins dix, 9 heures et vingt-cinq",
    "the last six weeks, the Next two years, les deux derniers mois, ses trois prochaines années",
    "l'après-midi, Tonight, les soirées, à MINUIT, two nights",
    "a third of it, un tiers, a Fortnight, quart, la demie",
    "minus 5, moins 3, Menos 8, on May 3rd, le 1er août, 3 Sept., 12 d'octobre",
]
PATTERNS = {
    "part": (spelt.PART, spelt.WORDS_OF_PARTS),
    "last": (spelt._LAST_OF_TIME, spelt._LAST_WORDS),
    "late": (clock_times._LATE, clock_times._WORDS_OF_LATE),
    "minutes, en": (worded_times._WORDED["en"], worded_times._WORDS_OF_MINUTES["en"]),
    "minutes, fr": (worded_times._WORDED["fr"], worded_times._WORDS_OF_MINUTES["fr"]),
    "minus": (number_marks._MINUS, number_marks._MINUS_WORDS),
    "dates, en": (dates._dates("en"), dates._first_words("en")),
    "dates, fr": (dates._dates("fr"), dates._first_words("fr")),
}


@pytest.mark.parametrize(("pattern", "words"), PATTERNS.values(), ids=list(PATTERNS))
def test_a_match_has_a_word(pattern: re.Pattern[str], words: Set[str]) -> None:
    matching = [text for text in [*SENTENCES, *OTHERS] if pattern.search(text)]
    assert matching
    assert not [text for text in matching if words_of(text).isdisjoint(words)]
