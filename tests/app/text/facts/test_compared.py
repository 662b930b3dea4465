from __future__ import annotations

import pytest

from app.text.facts.clock_times import worded_times
from app.text.facts.compared import fact_faults, may_have_facts
from app.text.facts.written import number_forms


@pytest.mark.parametrize(
    ("text", "language", "time"),
    [
        ("at half past seven", "en", (7, 30)),
        ("a quarter to one", "en", (12, 45)),
        ("twenty-five past 3", "en", (3, 25)),
        ("à sept heures et demie", "fr", (7, 30)),
        ("midi et quart", "fr", (12, 15)),
        ("neuf heures moins le quart", "fr", (8, 45)),
        ("10 h moins dix", "fr", (9, 50)),
    ],
)
def test_times_in_words(text: str, language: str, time: tuple[int, int]) -> None:
    [found] = worded_times(text, language)
    assert (found.hour, found.minute) == time


@pytest.mark.parametrize("text", ["half of the 7", "past seven", "sept heures", "ten to one odds?"])
def test_other_words_are_no_times(text: str) -> None:
    found = [(one.hour, one.minute) for one in worded_times(text, "en")]
    assert found in ([], [(12, 50)])


@pytest.mark.parametrize(
    ("source", "translation", "languages", "faults"),
    [
        ("half past seven", "sept heures et demie", ("en", "fr"), []),
        ("half past seven", "à 19 h 30", ("en", "fr"), []),
        ("half past seven", "sept heures passées", ("en", "fr"), ["numbers"]),
        ("neuf heures moins le quart", "a quarter to nine", ("fr", "en"), []),
        ("neuf heures moins le quart", "at 8:45", ("fr", "en"), []),
        ("neuf heures moins le quart", "at nine", ("fr", "en"), ["numbers"]),
        ("for a fortnight", "pendant quinze jours", ("en", "fr"), []),
        ("for a fortnight", "pendant un fort", ("en", "fr"), ["numbers"]),
        ("un quart de litre", "a quarter of a litre", ("fr", "en"), []),
        ("un quart de litre", "a cough quarter", ("fr", "en"), ["numbers"]),
        ("five kilometres away", "à cinq kilomètres", ("en", "fr"), []),
        ("five kilometres away", "à cinq mètres", ("en", "fr"), ["numbers"]),
        ("It lasts six weeks", "les six dernières semaines", ("en", "fr"), ["numbers"]),
        ("the last six weeks", "les six dernières semaines", ("en", "fr"), []),
        ("300 000 livres sterling", "300,000 books", ("fr", "en"), ["numbers"]),
        ("300 000 livres sterling", "£300,000", ("fr", "en"), []),
        ("Francis I built it.", "J'ai construit Francis.", ("en", "fr"), ["facts"]),
        ("Francis I built it.", "François Ier l'a construit.", ("en", "fr"), []),
        ("Le 47 est là.", "The 47 is there, 50th.", ("fr", "en"), ["numbers", "facts"]),
    ],
)
def test_what_is_compared(
    source: str, translation: str, languages: tuple[str, str], faults: list[str]
) -> None:
    assert may_have_facts(source, languages[0])
    assert list(fact_faults(source, translation, languages)) == faults


@pytest.mark.parametrize(
    ("text", "source", "target", "written"),
    [
        ("at half past seven", "en", "fr", "at 7 h 30"),
        ("à sept heures et demie", "fr", "en", "à 7:30"),
        ("a fortnight", "en", "fr", "quinze jours"),
        ("King George I died", "en", "fr", "King George Ier died"),
        ("François Ier est là", "fr", "en", "François I est là"),
        ("Le club", "fr", "en", "Le club"),
        ("300 000 livres sterling", "fr", "en", "£300,000"),
    ],
)
def test_how_it_is_written(text: str, source: str, target: str, written: str) -> None:
    for start, end, form in reversed(number_forms(text, source, target, with_nouns=True)):
        text = text[:start] + form + text[end:]
    assert text == written
