from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.numbers import same_numbers

SAME = [
    ("12,34,567.8 people", "1 234 567,8 personnes"),
    ("At 2pm two vans", "À 14 h deux camions"),
    ("It costs $300.", "Cela coûte trois cents dollars."),
    ("the age of 97", "l'âge de quatre-vingt-dix-sept ans"),
    ("in the 70s", "dans les années soixante-dix"),
    ("2,019 people", "deux mille dix-neuf personnes"),
    ("It costs €25.99.", "Cela coûte 25,99 €."),
    ("It costs $1,234.50.", "Cela coûte 1 234,50 $."),
    ("It costs $1,234.50.", "Cela coûte 1\u202f234,5 $."),
    ("1,234 people", "1234 personnes"),
    ("1,234 people", "1.234 Personen"),
    ("10,000,000 people", "10 000 000 de personnes"),
    ("10,000,000 people", "10 millions de personnes"),
    ("The train leaves at 3:30 p.m.", "Le train part à 15 h 30."),
    ("The train leaves at 3:30 pm.", "Le train part à 15h30."),
    ("The train leaves at 12.35 p.m.", "Le train part à 12h35."),
    ("in the 1960s", "dans les années 60"),
    ("in the 1960s", "dans les années 1960"),
    ("We meet at 5 o'clock.", "On se voit à 17 heures."),
    ("It took 5 hours.", "Cela a pris 5 heures."),
    ("On March 3, 2020", "Le 3 mars 2020"),
    ("On 3/4/2020", "Le 3 avril 2020"),
    ("On 2020-04-03", "Le 03.04.2020"),
    ("Two dogs and 3 cats", "2 chiens et trois chats"),
    ("the 21st century", "le XXIe siècle"),
    ("Louis XIV", "Louis 14"),
    ("5 km at 20 °C", "5 km à 20 °C"),
    ("7% of 2.5 million", "7 % de 2,5 millions"),
    ("£3bn", "3 milliards de livres"),
    ("It is ٢٥ degrees.", "Il fait 25 degrés."),
    ("Call 0123456789.", "Appelez le 01 23 45 67 89."),
    ("no number", "pas de nombre"),
    ("Version 1.2.10", "Version 1.2.10"),
    ("half of it", "la moitié"),
]
OTHER = [
    ("3 383 oiseaux", "33 83 birds"),
    ("It weighs 77.77 kg.", "Il pèse 7,7.77 kg."),
    ("At 2pm", "À 3 h"),
    ("trois cents", "301"),
    ("300 people", "trois personnes"),
    ("It costs €25.99.", "Cela coûte 25,9 €."),
    ("It costs €25.99.", "Cela coûte 25 €."),
    ("10,000 people", "1 000 personnes"),
    ("The train leaves at 3:30 pm.", "Le train part à 15 h 20."),
    ("On March 3, 2020", "Le 3 mars 2021"),
    ("3 cats", "des chats"),
    ("cats", "4 chats"),
    ("3 cats and 3 dogs", "3 chats"),
    ("2.5 million", "25 millions"),
    ("5 thousand", "5 millions et 4"),
    ("1.2.10", "1.2.11"),
]


@pytest.mark.parametrize(("source", "translation"), SAME)
def test_the_same_numbers_written_as_another_language_does(source: str, translation: str) -> None:
    assert same_numbers(source, translation)
    assert same_numbers(translation, source)


@pytest.mark.parametrize(("source", "translation"), OTHER)
def test_other_numbers(source: str, translation: str) -> None:
    assert not same_numbers(source, translation)
    assert not same_numbers(translation, source)


@given(st.text(max_size=60))
def test_a_text_has_its_own_numbers(text: str) -> None:
    assert same_numbers(text, text)


@given(st.text("0123456789.,: h'’ap.m IVXe", max_size=40), st.text("0123456789.,: ", max_size=40))
def test_any_texts_can_be_compared(one: str, other: str) -> None:
    assert isinstance(same_numbers(one, other), bool)
    assert not same_numbers(f"{one} ends", f"{other} 987654321 ends")


@pytest.mark.parametrize(
    "unit", ["1", "1 ", "1.", "1,", "1:11 ", "1 111 ", "one ", "X", "1h", "1 h "]
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    began = time.process_time()
    same_numbers(unit * (20_000 // len(unit)), "2 " + unit * (20_000 // len(unit)))
    assert time.process_time() - began < 2


def test_words_of_other_languages_may_be_numbers() -> None:
    for source, translation in (("3 cats", "drei Katzen"), ("100 Jahre", "sto let")):
        assert same_numbers(source, translation, ("en", "xx"))
    assert not same_numbers("3 cats", "4 Katzen", ("en", "de"))
    assert not same_numbers("347 cats", "viele Katzen", ("en", "de"))
    assert same_numbers("200 million", "2億", ("en", "ja"))
    assert same_numbers("3 pm", "15時", ("en", "ja"))
