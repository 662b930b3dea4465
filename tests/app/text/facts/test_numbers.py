import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.text.facts.compared import fact_faults
from app.text.facts.numbers import same_numbers

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
    ("no number", "pas de nombre"),
    ("Version 1.2.10", "Version 1.2.10"),
    ("half of it", "la moitié"),
    ("The train leaves at 3:30 pm.", "Le train part à 3 h 30 de l'après-midi."),
    ("The train leaves at 3:30 in the afternoon.", "Le train part à 15 h 30."),
    ("Come at 8:30 in the evening.", "Venez à 20h30."),
    ("Come at 9 at night.", "Venez à 21 heures."),
    ("Come at 2 at night.", "Venez à 2 h du matin."),
    ("Tonight at 8:30.", "Ce soir à 20 h 30."),
    ("Tonight at 8:30.", "Ce soir à 8 h 30."),
    ("It is 12:15 am.", "Il est 0 h 15."),
    ("It is 12 pm.", "Il est midi."),
    ("It is 12:20 p.m.", "Il est 12 h 20."),
    ("from 3 to 5 pm", "de 15 h à 17 h"),
    ("from 11 to 2 pm", "de 11 h à 14 h"),
    ("10-11 am", "10 h-11 h"),
    ("Open 9 am–5:30 pm.", "Ouvert de 9 h à 17 h 30."),
    ("It lasted 3 h.", "Cela a duré trois heures."),
    ("the 21st time", "la vingt et unième fois"),
    ("the 19th century", "le dix-neuvième siècle"),
    ("the 11th floor", "le onzième étage"),
    ("3/4 of it", "les trois quarts"),
    ("3/5 of it", "trois cinquièmes"),
    ("It is -5 °C.", "Il fait −5 °C."),
    ("It is -5 °C.", "Il fait moins cinq."),
    ("It is -5 °C.", "Il fait 5 degrés au-dessous de zéro."),
    ("pages 10-20", "les pages 10 à 20"),
    ("- 5 apples", "5 pommes"),
    ("1,234 people", "1\u2007234 personnes"),
    ("1,234 people", "1\u2009234 personnes"),
    ("Chapter XII", "Chapitre XII"),
    ("It is open from nine to six.", "C'est ouvert de neuf heures à dix-huit heures."),
    ("a new car with four doors", "une voiture neuve à quatre portes"),
    ("twenty-four hours", "un jour"),
    ("a hundred and twenty", "cent vingt"),
    ("Louis XIV and three cats", "Louis XIV et trois chats"),
    ("an IV drip", "une perfusion"),
    ("more than 1,000 people", "plus d'un millier de personnes"),
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
    ("The train leaves at 3:30 pm.", "Le train part à 3 h 30."),
    ("The train leaves at 3:30 am.", "Le train part à 15 h 30."),
    ("The train leaves at 3:30.", "Le train part à 15 h 30."),
    ("The train leaves at 3:30 pm.", "Le train part à 3 h 30 du matin."),
    ("Come at 3 pm.", "Venez à 3 heures."),
    ("It is 12:15 am.", "Il est 12 h 15."),
    ("It took 5 hours.", "Cela a pris 17 heures."),
    ("from 3 to 5 pm", "de 3 à 17 h"),
    ("It is -5 °C.", "Il fait 5 °C."),
    ("It is -5 and -7 °C.", "Il fait −5 et 7 °C."),
    ("1,234 people", "1,234 personnes"),
    ("1,234.5 kg", "1,2345 kg"),
    ("He is over eighteen.", "Il a plus de huit ans."),
    ("fourteen banks", "quatre banques"),
    ("the XVIIIth century", "le XVIIe siècle"),
    ("seventy kilometres in 2 days", "soixante kilomètres en 2 jours"),
]


@pytest.mark.parametrize(("source", "translation"), SAME)
def test_the_same_numbers_written_as_another_language_does(source: str, translation: str) -> None:
    assert not list(fact_faults(source, translation, ("en", "fr")))
    assert not list(fact_faults(translation, source, ("fr", "en")))


@pytest.mark.parametrize(("source", "translation"), OTHER)
def test_other_numbers(source: str, translation: str) -> None:
    assert any(fact_faults(source, translation, ("en", "fr")))
    assert any(fact_faults(translation, source, ("fr", "en")))


@given(st.text(max_size=60))
@example("2E")
@example("the 3rd")
def test_a_text_has_its_own_numbers(text: str) -> None:
    assert same_numbers(text, text, ("en", "en"))
    assert same_numbers(text, text, ("fr", "fr"))


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


def test_a_comma_before_three_digits_has_the_meaning_of_its_language() -> None:
    assert not same_numbers("80,000 people", "80,000 personnes", ("en", "fr"))
    assert not same_numbers("Il pèse 3,383 kg.", "It weighs 3,383 kg.", ("fr", "en"))
    assert same_numbers("Il pèse 3,383 kg.", "It weighs 3.383 kg.", ("fr", "en"))
    # An author of French may write thousands as English does, a translation may not.
    assert same_numbers("80,000 personnes", "80,000 people", ("fr", "en"))
    assert same_numbers("80,000 people", "80,000 Leute", ("en", "de"))


def test_halves_of_the_day_are_compared_where_their_words_are_known() -> None:
    assert same_numbers("at 3:30 pm", "um 3:30 nachmittags", ("en", "de"))
    assert not same_numbers("at 3:30 pm", "um 4:30 nachmittags", ("en", "de"))


def test_signs_are_compared_where_their_words_are_known() -> None:
    assert not same_numbers("-5 °C", "5 °C", ("en", "de"))
    assert same_numbers("-5 °C", "minus 5 °C", ("en", "de"))
    assert same_numbers("-5 °C", "零下5度", ("en", "zh"))


@pytest.mark.parametrize(
    "answer", ["At 17:15 PM.", "At 17:15 a.m.", "At 17:15pm", "At 17.15 p.m.", "At 00:15 AM."]
)
def test_an_hour_of_24_is_not_said_to_be_in_a_half_of_the_day(answer: str) -> None:
    source = "À 0 h 15." if "00" in answer else "À 17 h 15."
    assert not same_numbers(source, answer, ("fr", "en"))
    assert same_numbers(answer, source, ("en", "fr"))
    assert same_numbers(answer, answer, ("en", "en"))


@pytest.mark.parametrize("answer", ["At 5:15 PM.", "At 17:15.", "At 12:15 p.m.", "Pay 17:15, Pam."])
def test_a_time_by_either_clock_is_a_time(answer: str) -> None:
    source = "À 12 h 15." if "12" in answer else "À 17 h 15."
    assert same_numbers(source, answer, ("fr", "en"))
