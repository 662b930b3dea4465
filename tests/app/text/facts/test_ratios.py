import pytest

from app.text.facts.ratios import ratios_written, same_ratios


@pytest.mark.parametrize(
    ("text", "source", "target", "written"),
    [
        ("Un enfant sur dix", "fr", "en", "Un enfant in 10"),
        ("deux sur trois", "fr", "en", "2 out of 3"),
        ("neuf fois sur dix", "fr", "en", "neuf fois out of 10"),
        ("One in five people", "en", "fr", "1 sur 5 people"),
        ("8 out of 10", "en", "fr", "8 sur 10"),
        ("two men in 10 cars", "en", "fr", "two men in 10 cars"),
        ("five in 2010", "en", "fr", "five in 2010"),
        ("one in three days", "en", "fr", "one in three days"),
        ("8 out of 10", "en", "de", "8 out of 10"),
    ],
)
def test_ratios_as_another_language_writes_them(
    text: str, source: str, target: str, written: str
) -> None:
    for start, end, form in reversed([*ratios_written(text, source, target)]):
        text = text[:start] + form + text[end:]
    assert text == written


@pytest.mark.parametrize(
    ("source", "translation", "same"),
    [
        ("8 out of 10", "8 de 10", False),
        ("8 out of 10", "8 sur 10", True),
        ("8 out of 10", "8/10", True),
        ("one in five", "20 %", True),
        ("one in ten", "un dixième", True),
        ("one in ten", "un dans dix", False),
    ],
)
def test_the_whole_stays_a_whole(source: str, translation: str, same: bool) -> None:
    assert same_ratios(source, translation, ("en", "fr")) == same
    assert same_ratios(source, translation, ("en", "de"))
