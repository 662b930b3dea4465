import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.cldr import convention_of
from app.text.facts.compared import fact_faults
from app.text.facts.compared_numbers import same_numbers
from app.text.facts.written import number_forms
from tests.cases import cases
from tests.linear import assert_linear

LANGUAGES = (
    "en", "fr", "de", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "hu", "ro", "ru", "uk",
    "tr",
    "id", "vi", "ja", "zh", "ko",
)  # fmt: skip


def rewritten(text: str, source: str, target: str, *, with_nouns: bool = False) -> str:
    forms = number_forms(text, source, target, with_nouns=with_nouns)
    for start, end, written in reversed(forms):
        text = text[:start] + written + text[end:]
    return text


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("€25.99", "25,99 €"), ("$1,234.5", "1 234,5 $"), ("1,234,567", "1 234 567"),
        ("2.5", "2,5"), ("2019", "2019"), ("1st", "1er"), ("3rd", "3e"), ("1.5-2.5", "1,5-2,5"),
        ("50%", "50 %"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_the_target_language_does(english: str, french: str) -> None:
    assert rewritten(f"it {english} is", "en", "fr") == f"it {french} is"
    assert rewritten(f"ce {french} est", "fr", "en") == f"ce {english} est"


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [("300 000 livres", "fr", "en"), ("50 couronnes", "fr", "en"), ("5,000 pounds", "en", "fr")],
)
def test_a_noun_of_several_meanings_is_left_to_the_model(
    text: str, source: str, target: str
) -> None:
    [form] = number_forms(text, source, target, with_nouns=True)
    assert text[form.end :] == f" {text.rsplit(maxsplit=1)[-1]}"


@pytest.mark.parametrize(
    ("text", "source", "target", "written"), cases(__file__, "each_language_has_its_convention")
)
def test_each_language_has_its_convention(
    text: str, source: str, target: str, written: str
) -> None:
    assert rewritten(text, source, target) == written


@pytest.mark.parametrize(
    "text",
    [
        "12/05/2024", "2024-05-12", "2.10.3", "192.168.1.1", "+33 6 12 34 56 78", "555-123-4567",
        "1/2", "A320", "COVID-19", "MP3", "٢٥", "२५", "２５", "3,14", "15:30",
        "10-20", "007", "100 Mbps", "100 Mb/s",
    ],
)  # fmt: skip
def test_ambiguous_facts_are_found_as_one_and_stay(text: str) -> None:
    [(start, end, written)] = number_forms(f"see {text} here", "en", "fr")
    assert (f"see {text} here"[start:end], written) == (text, text)


def test_a_language_without_a_convention_changes_nothing() -> None:
    text = "€25.99 at 3pm on the 3rd, 1,234.5"
    for pair in (("en", "xx"), ("xx", "en"), ("hi", "ar")):
        assert rewritten(text, *pair) == text


@pytest.mark.parametrize("word", ["the", "many", "by", "books", "kept", "thick"])
def test_only_a_power_of_ten_behind_an_amount_keeps_its_sign_in_front(word: str) -> None:
    assert rewritten(f"€25.99 {word}", "en", "fr") == f"25,99 € {word}"


@pytest.mark.parametrize(
    ("text", "source", "target", "written"),
    [
        ("1 000 000 000,00", "af", "en", "1,000,000,000.00"),
        ("12.345.678.901.234,5", "de", "en", "12,345,678,901,234.5"),
        ("1 000 000 000", "af", "en", "1 000 000 000"),  # a telephone number may be written so
    ],
)
def test_groups_before_decimals_are_not_a_telephone_number(
    text: str, source: str, target: str, written: str
) -> None:
    assert rewritten(text, source, target) == written


def test_a_word_for_a_unit_stays_for_the_model_at_first() -> None:
    text = "Il a régné 72 ans sur 30 pieds."
    assert rewritten(text, "fr", "en") == text
    forms = number_forms(text, "fr", "en", with_nouns=True)
    assert [form.written for form in forms] == ["72 years", "30 feet"]


def test_letters_around_a_number_stay_outside() -> None:
    found = number_forms("第25章 in the 1990s, 90-year-old", "en", "fr")
    assert [form.written for form in found] == ["25", "1990", "90"]


@given(
    st.integers(0, 10**12),
    st.integers(0, 99),
    st.sampled_from(LANGUAGES),
    st.sampled_from(LANGUAGES),
)
def test_the_value_is_unchanged_and_restored(
    whole: int, part: int, source: str, target: str
) -> None:
    here = convention_of(source)
    assert here
    text = f"{whole:,}".replace(",", here.group) + f"{here.decimal}{part:02}"
    written = rewritten(text, source, target)
    assert same_numbers(text, written, (source, target))
    assert rewritten(written, target, source) == text


UNITS = (
    "{} km", "{} kg", "{} cm", "{} ml", "{} GB", "{} mm", "{} °C", "{} km/h", "{} W", "{} ha",
    "{}%",
    "{} feet", "{} inches", "{} miles", "{} minutes", "{} volts", "{} tonnes", "{} seconds", "€{}",
    "${}",
    "{} m", "{}m", "${} million", "€{} billion", "{} hours",
)  # fmt: skip


@pytest.mark.parametrize("target", LANGUAGES[1:])
@pytest.mark.parametrize("unit", UNITS)
def test_an_amount_is_read_back_as_the_same(unit: str, target: str) -> None:
    for value in ("2", "5", "21", "3.5", "1,250"):
        text = f"It is {unit.format(value)}."
        [form] = number_forms(text, "en", target, with_nouns=True)
        assert not list(fact_faults(text, f"– {form.written}.", ("en", target))), form
        other = unit.format("7")
        assert list(fact_faults(f"It is {other}.", f"– {form.written}.", ("en", target))), form


@pytest.mark.parametrize("target", LANGUAGES[1:])
@pytest.mark.parametrize(
    "length", ["{} h 30", "{} h 30 min", "{} hr 30 min", "{} hours 30 minutes"]
)
def test_hours_with_minutes_are_read_back_as_the_same(length: str, target: str) -> None:
    for value in (2, 5, 21):
        text = f"It lasts {length.format(value)}, they say."
        written = rewritten(text, "en", target, with_nouns=True)
        assert not fact_faults(text, written, ("en", target)), written
        other = text.replace("30", "40")
        assert fact_faults(other, written, ("en", target)), written


@given(st.text("0123456789.,:/- hpam€$e'st", max_size=40), st.sampled_from(["en", "fr", "xx"]))
def test_any_text_can_be_read(text: str, source: str) -> None:
    spans = [(form.start, form.end) for form in number_forms(text, source, "fr")]
    assert spans == sorted(spans)
    assert all(start < end for start, end in spans)


@pytest.mark.parametrize("unit", ["1", "1 ", "1.", "1,", "1:", "+1 ", "A1", "$1", "1-", "11 11 "])
def test_time_is_linear_in_the_length(unit: str) -> None:
    assert_linear(lambda n: number_forms(unit * n, "en", "fr"), 20_000 // len(unit))
