import pytest

from app.text.facts.relations import ratios_written, same_bounds, same_ratios


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
        ("20 by 35 metres", "en", "fr", "20 sur 35 metres"),
        ("20 mètres sur 35", "fr", "en", "20 mètres by 35"),
        ("rated 4.5 out of 5", "en", "fr", "rated 4.5 sur 5"),
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
        ("1 in 1,000", "1 en 1 000", False),
        ("1 in 1,000", "1 sur 1 000", True),
        ("20 by 35 metres", "20 à 35 mètres", False),
        ("20 by 35 metres", "20 mètres par 35", True),
    ],
)
def test_the_whole_stays_a_whole(source: str, translation: str, same: bool) -> None:
    assert same_ratios(source, translation, ("en", "fr")) == same
    assert same_ratios(source, translation, ("en", "de"))


@pytest.mark.parametrize(
    ("source", "translation", "same"),
    [
        ("up to 5,000 euros", "à 5 000 euros", False),
        ("up to 5,000 euros", "jusqu'à 5 000 euros", True),
        ("Sales fell by 12 %", "Les ventes ont augmenté de 12 %", False),
        ("Sales fell by 12 %", "Les ventes ont reculé de 12 %", True),
        ("Sales fell by 12 %", "Les ventes sont à 12 %", True),
        ("more than 5", "moins de 5", False),
        ("at least 5", "moins de 5", False),
        ("at least 5", "au moins 5", True),
        ("less than 5", "au moins 5", False),
        ("no less than 5", "pas moins de 5", True),
        ("older than 21 days", "de 21 jours", False),
        ("older than 21 days", "de plus de 21 jours", True),
        ("as many as 800 million", "plus de 800 millions", False),
        ("as many as 800 million", "pas moins de 800 millions", True),
        ("Prices are up 12 percent", "Les prix sont de 12 %", False),
        ("Prices are up 12 percent", "Les prix ont augmenté de 12 %", True),
        ("no more than 5", "pas plus de 5", True),
        ("3 glaciers flow down", "3 glaciers coulent de la montagne", True),
        ("climb 3 walls", "grimper 3 murs, plongée sous-marine", True),
        ("update 3 files, less than 5", "modifier 3 fichiers, moins de 5", True),
    ],
)
def test_a_bound_or_a_change_is_not_its_opposite(source: str, translation: str, same: bool) -> None:
    assert same_bounds(source, translation, ("en", "fr")) == same
    assert same_bounds(source, translation, ("en", "de"))


@pytest.mark.parametrize(
    ("source", "translation", "same"),
    [
        ("plus vieilles que 21 jours", "21-day apples", False),
        ("plus vieilles que 21 jours", "older than 21 days", True),
        ("moins de 15 degrés", "at least 15 degrees", False),
        ("au moins 15 degrés", "at least 15 degrees", True),
        ("a baissé de 3,4 %", "has fallen from 3.4%", False),
        ("a baissé de 3,4 %", "has fallen by 3.4%", True),
        ("a baissé de 3,4 à 2 %", "has fallen from 3.4 to 2%", True),
        ("est passé de 4,1 % à 5,3 %", "rose to 4.1% to 5.3%", False),
        ("est passé de 4,1 % à 5,3 %", "rose from 4.1% to 5.3%", True),
    ],
)
def test_a_comparison_or_a_change_stays_one(source: str, translation: str, same: bool) -> None:
    assert same_bounds(source, translation, ("fr", "en")) == same
