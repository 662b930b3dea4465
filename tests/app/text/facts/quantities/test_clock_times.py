import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.facts.quantities.clock_times import by_24_hours, half_before, names_late_part, time_at

HOURS = st.integers(0, 23)
MINUTES = st.integers(0, 59)


@given(HOURS, MINUTES)
def test_both_languages_write_the_same_time(hour: int, minute: int) -> None:
    half = "am" if hour < 12 else "pm"
    spellings = [
        f"{hour}:{minute:02}", f"{hour} h {minute:02}", f"{hour:02}h{minute:02}",
        f"{hour} heures {minute:02}", f"{hour % 12 or 12}:{minute:02} {half}",
        f"{hour % 12 or 12}.{minute:02}{half[0].upper()}.M.",
    ]  # fmt: skip
    for spelling in spellings:
        found = time_at(spelling, 0, may_be_late=False)
        assert found is not None, spelling
        assert (found.hours, found.minute, found.end) == ((hour,), minute, len(spelling)), spelling


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("3 pm", (15,)),
        ("12 am", (0,)),
        ("12 pm", (12,)),
        ("3 to 5 pm", (15,)),
        ("11 to 1 pm", (11,)),
        ("10-11 a.m.", (10,)),
        ("8 h du soir", (20,)),
        ("8 heures du matin", (8,)),
        ("8 heures, du soir", (20,)),
        ("3 h de l'après-midi", (15,)),
        ("8 h 30 du soir", (20,)),
        ("2 h de la nuit", (2,)),
        ("3 o'clock", (3, 15)),
        ("3 o'clock in the afternoon", (15,)),
        ("15 h", (15,)),
        ("3 h", (3,)),
    ],
)
def test_words_for_the_half_of_the_day_count(text: str, hours: tuple[int, ...]) -> None:
    found = time_at(text, 0, may_be_late=False)
    assert found is not None
    assert found.hours == hours


def test_a_text_about_the_evening_may_mean_either_half() -> None:
    found = time_at("8:30", 0, may_be_late=True)
    assert found is not None
    assert found.hours == (8, 20)
    assert names_late_part("demain soir")
    assert not names_late_part("demain matin, en soierie")


@pytest.mark.parametrize("text", ["3", "3 houses", "3 to 5", "3.5", "3,50 h", "3 apples", "345:10"])
def test_other_numbers_are_not_times(text: str) -> None:
    assert time_at(text, 0, may_be_late=True) is None


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from("ap"))
def test_the_first_of_two_hours_is_before_the_second(first: int, last: int, half: str) -> None:
    second_half = "a" if half == "a" else "p"
    found = half_before(first, last, second_half)  # type: ignore[arg-type]
    between = (by_24_hours(last, second_half) - by_24_hours(first, found)) % 24  # type: ignore[arg-type]
    assert between <= 12
    assert (between == 12) == (first == last)
