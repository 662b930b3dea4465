"""Languages without spaces around numbers and units."""

from decimal import Decimal

import pytest

from app.text.cldr import unit_pattern
from app.text.facts.compared import fact_faults
from app.text.facts.numbers import with_western_digits

FOLLOWING = {"ja": "かかります。", "zh": "才能完成。", "ko": "이걸립니다.", "th": "แล้วครับ"}
UNITS = {
    "duration-second": "seconds", "duration-minute": "minutes", "duration-hour": "hours",
    "duration-day": "days", "duration-week": "weeks", "duration-year": "years",
    "length-kilometer": "kilometres", "length-meter": "metres", "mass-kilogram": "kilograms",
}  # fmt: skip
CHECKED = [unit for unit in UNITS if unit.split("-")[1] not in ("hour", "day", "week", "year")]


@pytest.mark.parametrize("language", FOLLOWING)
@pytest.mark.parametrize("value", [2, 45, 135, 3000])
@pytest.mark.parametrize("unit", UNITS)
def test_units_of_cldr_directly_behind_digits(unit: str, value: int, language: str) -> None:
    pattern = unit_pattern(unit, Decimal(value), language, is_short=False)
    assert pattern is not None
    written = pattern.replace(" ", "").replace("{0}", str(value)) + FOLLOWING[language]
    for languages in (("en", language), (language, "en")):
        for number, noun in ((value, UNITS[unit]), (value + 1, UNITS[unit])):
            english = f"It takes {number:,} {noun}."
            pair = (english, written) if languages[0] == "en" else (written, english)
            assert (not fact_faults(*pair, languages)) == (number == value), pair


@pytest.mark.parametrize("language", FOLLOWING)
@pytest.mark.parametrize("unit", CHECKED)
def test_another_unit_directly_behind_digits(unit: str, language: str) -> None:
    for other in CHECKED:
        if other != unit:
            pattern = unit_pattern(other, Decimal(45), language, is_short=False)
            assert pattern is not None
            written = pattern.replace(" ", "").replace("{0}", "45") + FOLLOWING[language]
            assert fact_faults(f"It takes 45 {UNITS[unit]}.", written, ("en", language)), written


@pytest.mark.parametrize(
    ("english", "written", "language"),
    [
        ("500 yen", "500円です", "ja"),
        ("500 yuan", "500元了", "zh"),
        ("500 won", "500원입니다", "ko"),
        ("$500", "500ドルです", "ja"),
        ("$500", "500美元了", "zh"),
        ("$500", "500달러입니다", "ko"),
        ("€500", "500ユーロです", "ja"),
        ("€500", "500欧元了", "zh"),
        ("€500", "500유로입니다", "ko"),
        ("20,000 people", "2万人が来ました", "ja"),
        ("300 million people", "3億人です", "ja"),
        ("120 million people", "1億2000万人です", "ja"),
        ("12,345 people", "1万2345人です", "ja"),
        ("120 million people", "1亿2000万人口", "zh"),
        ("12,000 people", "1만 2천 명입니다", "ko"),
        ("5,000 people", "5千人が来ました", "ja"),
        ("30 million people", "3千万人です", "ja"),
        ("3:30 pm", "午後3時30分に", "ja"),
        ("at 3:05", "3時5分に", "ja"),
        ("15:30", "15点30分开始", "zh"),
        ("at 3:30 pm", "오후3시30분에시작", "ko"),
        ("20%", "20パーセントです", "ja"),
        ("3 May 2024", "2024年5月3日に行きます", "ja"),
        ("2024", "2024년에시작했습니다", "ko"),
    ],
)
def test_money_people_times_and_dates(english: str, written: str, language: str) -> None:
    english = f"It is {english}."
    assert not fact_faults(english, written, ("en", language))
    assert not fact_faults(written, english, (language, "en"))
    other = english.translate(str.maketrans("123", "231"))
    assert other == english or fact_faults(other, written, ("en", language))


@pytest.mark.parametrize(
    ("english", "written", "language"),
    [("$500", "500円です", "ja"), ("500 yen", "500ドルです", "ja"), ("€500", "500원입니다", "ko")],
)
def test_another_currency(english: str, written: str, language: str) -> None:
    assert fact_faults(f"It is {english}.", written, ("en", language)) == ("numbers",)


def test_a_number_of_several_scales_is_one_number() -> None:
    assert with_western_digits("1億2000万人") == "120000000人"
    assert with_western_digits("2천 3만") == "2천 3만"  # they do not descend
