import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.text.facts.compared import fact_faults
from app.text.facts.compared_numbers import same_numbers
from app.text.facts.quantities.number_marks import has_foreign_form
from app.text.facts.written import number_forms
from tests.cases import cases
from tests.linear import assert_linear

SAME = cases(__file__, "same")
OTHER = cases(__file__, "other")


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
    "unit", ["1", "1 ", "1.", "1,", "1:11 ", "1 111 ", "one ", "X", "1h", "1 h ", "x-1.0 "]
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    assert_linear(lambda n: same_numbers(unit * n, "2 " + unit * n), 20_000 // len(unit))


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
    # A French source may write thousands as English does, a translation may not.
    assert same_numbers("80,000 personnes", "80,000 people", ("fr", "en"))
    assert same_numbers("80,000 people", "80,000 Leute", ("en", "de"))


def test_halves_of_the_day_are_compared_where_their_words_are_known() -> None:
    assert same_numbers("at 3:30 pm", "um 3:30 nachmittags", ("en", "de"))
    assert not same_numbers("at 3:30 pm", "um 4:30 nachmittags", ("en", "de"))


def test_a_measure_has_no_currency() -> None:
    source = "50 Go pour 15 € par mois"
    assert same_numbers(source, "50 GB for €15 a month", ("fr", "en"))
    assert not same_numbers(source, "€50 GB for €15 a month", ("fr", "en"))


def test_signs_are_compared_where_their_words_are_known() -> None:
    assert not same_numbers("-5 °C", "5 °C", ("en", "de"))
    assert same_numbers("-5 °C", "minus 5 °C", ("en", "de"))
    assert not same_numbers("à moins 15 degrés", "at least 15 degrees", ("fr", "en"))
    assert same_numbers("-5 °C", "零下5度", ("en", "zh"))


@pytest.mark.parametrize(
    "answer", ["At 17:15 PM.", "At 17:15 a.m.", "At 17:15pm", "At 17.15 p.m.", "At 00:15 AM."]
)
def test_an_hour_of_24_has_no_half_of_the_day(answer: str) -> None:
    source = "À 0 h 15." if "00" in answer else "À 17 h 15."
    assert not same_numbers(source, answer, ("fr", "en"))
    assert same_numbers(answer, source, ("en", "fr"))
    assert same_numbers(answer, answer, ("en", "en"))


@pytest.mark.parametrize("answer", ["At 5:15 PM.", "At 17:15.", "At 12:15 p.m.", "Pay 17:15, Pam."])
def test_a_time_by_either_clock_is_a_time(answer: str) -> None:
    source = "À 12 h 15." if "12" in answer else "À 17 h 15."
    assert same_numbers(source, answer, ("fr", "en"))


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("the Xfce 4.8 desktop", "le bureau Xfce 4.8"),
        ("kFreeBSD kernel 8.3 and 9.0", "Le noyau kFreeBSD 8.3 et 9.0"),
        ("GCC 3.3.", "GCC 3.3."),
        ("Debian GNU/Linux 5.0 is out", "Debian GNU/Linux 5.0 est sorti"),
        ("the GNOME desktop environment 3.22", "l'environnement de bureau GNOME 3.22"),
        ("DOS, Windows 3.1, and more", "DOS, Windows 3.1 et plus"),
        ("Python 3.12 is fast", "Python 3.12 est rapide"),
        ("Section 3.2 is short", "La section 3.2 est courte"),
        ("see figure 1.4 and table 2.1, or 2.2", "voir la figure 1.4 et le tableau 2.1, ou 2.2"),
        ("from version 1.0cr2 to version 1.0", "de la version 1.0cr2 à la version 1.0"),
    ],
)
def test_a_version_keeps_its_full_stop(source: str, translation: str) -> None:
    assert same_numbers(source, translation, ("en", "fr"))
    forms = number_forms(source, "en", "fr")
    assert all(written == source[start:end] for start, end, written in forms)


@pytest.mark.parametrize(
    "text", ["About 3.5 acres", "in March 2.5 million", "In Spain 7.3 percent", "the USD 3.5 fee"]
)
def test_a_decimal_after_a_capital_may_be_an_amount(text: str) -> None:
    assert has_foreign_form(text, text, ("en", "fr"))
