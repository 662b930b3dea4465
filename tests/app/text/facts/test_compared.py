from datetime import date, time
from decimal import Decimal

import pytest
from babel.dates import format_date, format_time
from babel.numbers import format_currency, format_decimal, format_percent

from app.text.facts.compared import fact_faults, may_have_facts
from app.text.facts.quantities.worded_times import worded_times
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
def test_other_words_are_not_times(text: str) -> None:
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
        ("Neuf pour cent", "Neuf per cent", ("fr", "en"), ["numbers"]),
        ("un vélo neuf", "a new bike", ("fr", "en"), []),
        ("thirteen buns", "des petits pains, une fois", ("en", "fr"), ["numbers"]),
        ("à vingt heures", "at eight p.m.", ("fr", "en"), []),
        ("six semaines", "six days", ("fr", "en"), ["numbers"]),
        ("une quinzaine d'invités", "a dozen guests", ("fr", "en"), ["numbers"]),
        ("une quinzaine d'invités", "about fifteen guests", ("fr", "en"), []),
        ("à neuf heures et demie", "at nine and a half hours", ("fr", "en"), ["numbers"]),
        ("deux heures et demie de route", "two and a half hours by car", ("fr", "en"), []),
        ("six heures moins le quart", "six hours less a quarter", ("fr", "en"), ["numbers"]),
        ("8 oz bottle", "8 bouteille oz", ("en", "fr"), ["numbers"]),
        ("CHF 1,250 in all", "1 250 en tout en CHF", ("en", "fr"), ["numbers"]),
        ("15 shekels", "15 héberges", ("en", "fr"), ["numbers"]),
        ("15 shekels", "15 shekels", ("en", "fr"), []),
        ("un disque de 2 To", "a 2 To disk", ("fr", "en"), ["numbers"]),
        ("un disque de 2 To", "a 2 TB disk", ("fr", "en"), []),
        ("300 francs", "300 Fran away", ("fr", "en"), ["numbers"]),
        ("1,4 mètre", "1.4meter", ("fr", "en"), ["numbers"]),
        ("two vans were there", "des fourgons étaient là", ("en", "fr"), ["numbers"]),
        ("two vans were there", "les deux fourgons étaient là", ("en", "fr"), []),
        ("Friday the 13th", "vendredi le 13e", ("en", "fr"), ["facts"]),
        ("le IIe siècle", "the II century", ("fr", "en"), ["facts"]),
        ("le XVIIIème siècle", "the 18th", ("fr", "en"), ["facts"]),
        ("in the '80s", "dans les '80s", ("en", "fr"), ["facts"]),
        ("the 1990s", "les 1990s", ("en", "fr"), ["facts"]),
        ("in 410 AD", "en 410AD", ("en", "fr"), ["facts"]),
        ("in AD 79", "en AD 79", ("en", "fr"), ["facts"]),
        ("44 BC", "44 BC", ("en", "fr"), ["facts"]),
        ("44 BC", "44 av. J.-C.", ("en", "fr"), []),
        ("4 committees", "4 comités ad hoc", ("en", "fr"), []),
        ("for a fortnight", "pendant un fortnight", ("en", "fr"), ["facts"]),
        ("seventy-one hens", "soixante-dix et un poules", ("en", "fr"), ["facts"]),
        ("seventy-one hens", "soixante et onze poules", ("en", "fr"), []),
        ("a quarter to nine", "neuf heures moins quart", ("en", "fr"), ["facts"]),
        ("quarante et un étudiants", "forty and one students", ("fr", "en"), ["facts"]),
        ("quarante et un étudiants", "forty-one students", ("fr", "en"), []),
        ("the 1990s", "les années 1990", ("en", "fr"), []),
        ("un demi-milliard d'euros", "a half-milliard of euros", ("fr", "en"), ["facts"]),
        ("Élisabeth Ire est là", "Elisabeth Ire is there", ("fr", "en"), ["facts"]),
        ("avant 20 h", "before 20", ("fr", "en"), ["numbers"]),
        ("moins dix ce matin", "less ten this morning", ("fr", "en"), ["numbers"]),
        ("moins dix ce matin", "minus ten this morning", ("fr", "en"), []),
        ("neuf heures moins vingt", "twenty to nine", ("fr", "en"), []),
        ("à dix-huit heures trente", "at 18 30", ("fr", "en"), ["numbers", "facts"]),
        ("à dix-huit heures trente", "at 6:30 p.m.", ("fr", "en"), []),
        ("à dix-huit heures trente", "at 18 30.", ("fr", "en"), ["numbers", "facts"]),
        ("dure une heure et demie", "lasts an hour and a half", ("fr", "en"), []),
        ("dure une heure et demie", "lasts an hour", ("fr", "en"), ["numbers"]),
        ("lasts 2 hours 46 minutes", "dure 2 heures 46 minutes", ("en", "fr"), []),
        ("on the 3rd", "sur le 3e siècle", ("en", "fr"), ["facts"]),
        ("for no longer than 7 days", "pour plus de 7 jours", ("en", "fr"), ["numbers"]),
        ("at most two hours", "la plupart des deux heures", ("en", "fr"), ["numbers"]),
        ("no more than 4 doses", "pas plus de 4 doses", ("en", "fr"), []),
        ("14th out of 212", "le 14e 212 coureurs", ("en", "fr"), ["numbers"]),
        ("14th out of 212", "14e sur 212", ("en", "fr"), []),
        ("de lundi à jeudi", "from Monday to Tuesday", ("fr", "en"), ["facts"]),
        ("closed on Mondays", "fermé le lundi", ("en", "fr"), []),
        ("closed on Mondays", "montags geschlossen", ("en", "de"), []),
        ("closed on Mondays", "suljettu maanantaisin", ("en", "fi"), []),
        ("in December", "en janvier", ("en", "fr"), ["facts"]),
        ("38 in August, 31 in July", "38 en août, jusqu'au 31 juillet", ("en", "fr"), ["facts"]),
        ("mais 13 fois", "but 13 times", ("fr", "en"), []),
        ("au XIXᵉ siècle", "in the 19th century", ("fr", "en"), []),
        ("au XIXᵉ siècle", "in the 18th century", ("fr", "en"), ["numbers", "facts"]),
        ("le 2ᵉ étage", "the 2nd floor", ("fr", "en"), []),
        ("au Ier siècle", "in the 1st century", ("fr", "en"), []),
        ("at 60 mph", "à 60 mi/h", ("en", "fr"), []),
        ("US$50 in all", "50 $ US en tout", ("en", "fr"), []),
        ("US$50 in all", "50 US$ en tout", ("en", "fr"), []),
        ("for 30 min", "30 Min. lang", ("en", "de"), []),
        ("1 in 100,000", "1 sur 100000", ("en", "fr"), []),
        ("₹12,34,567", "1 234 567 ₹", ("en", "fr"), []),
        ("₹12,34,567", "1 234 577 ₹", ("en", "fr"), ["numbers"]),
        ("uses 7-Zip", "utilise 7-Zip", ("en", "fr"), []),
        ("24/7 support", "assistance 24 h/24 et 7 j/7", ("en", "fr"), []),
        ("5 jours sur 7", "5 days out of 7", ("fr", "en"), []),
        ("the fourteenth of July", "le 14e juillet", ("en", "fr"), ["facts"]),
        ("le quatorze juillet", "the fourteen July", ("fr", "en"), ["facts"]),
        ("ferme à 20 h", "closes at 20 h", ("fr", "en"), ["facts"]),
        ("No. 5 is here", "Le n° 5 est ici", ("en", "fr"), []),
        ("Six came.", "Six sont venus à quarante.", ("en", "fr"), ["numbers"]),
        ("avant 20 h", "before 8 p.m.", ("fr", "en"), []),
        ("à 7 heures du matin", "at 7 hours in the morning", ("fr", "en"), ["numbers"]),
        ("jeudi 6 h", "Thursday 6:", ("fr", "en"), ["numbers"]),
        ("before 8pm", "avant 8pm", ("en", "fr"), ["numbers"]),
        ("a 14m-euro deal", "un accord de 14m-euro", ("en", "fr"), ["numbers"]),
        ("12 mégapixels", "12 mégapixels", ("fr", "en"), ["numbers"]),
        ("4.7 million books", "4,7 millions de livres", ("en", "fr"), []),
        ("aged 6 to 12 may come", "de 6 à 12 peuvent venir", ("en", "fr"), []),
        ("at 3 in the afternoon", "à 3 l'après-midi", ("en", "fr"), ["numbers"]),
        ("5 à 6 heures", "5 to 6 hours", ("fr", "en"), []),
        ("the 2nd century BC", "le 2e siècle", ("en", "fr"), ["facts"]),
        ("the 2nd century BC", "le IIe siècle av. J.-C.", ("en", "fr"), []),
        ("le 3 fév. 1988", "3. 1988", ("fr", "en"), ["facts"]),
        ("le 3 fév. 1988", "3 February 1988", ("fr", "en"), []),
        ("les XXe et XXIe siècles", "the XXe and XXIe centuries", ("fr", "en"), ["facts"]),
        ("for thousands of years", "pendant des milliers d'années", ("en", "fr"), []),
        ("2 million km2", "2 millions de kilomètres carrés", ("en", "fr"), []),
        ("2 million km2", "2 millions de kilomètres", ("en", "fr"), ["numbers"]),
        ("300 000 livres", "300,000 books", ("fr", "en"), []),
        ("300 000 livres", "300,000 pounds", ("fr", "en"), []),
        ("300 000 livres", "300 books", ("fr", "en"), ["numbers"]),
        ("the 2nd door", "la 2e porte", ("en", "fr"), []),
        ("the 3rd door", "la 3rd porte", ("en", "fr"), ["facts"]),
        ("Francis I built it.", "J'ai construit Francis.", ("en", "fr"), ["facts"]),
        ("Francis I built it.", "François Ier l'a construit.", ("en", "fr"), []),
        ("Le 47 est là.", "The 47 is there, 50th.", ("fr", "en"), ["numbers", "facts"]),
        ("dure 2 h 15.", "lasts 2 hours and 15 minutes.", ("fr", "en"), []),
        ("dure 2 h 15.", "lasts two hours and fifteen minutes.", ("fr", "en"), []),
        ("dure 2 h 15.", "lasts 2 hours and 50 minutes.", ("fr", "en"), ["numbers"]),
        ("dure 2 h 15.", "lasts 2 hours or 15 minutes.", ("fr", "en"), ["numbers"]),
        ("dure 1 h 30 min.", "lasts an hour and a half.", ("fr", "en"), []),
        ("dure 1 h 30 min.", "lasts an hour and a quarter.", ("fr", "en"), ["numbers"]),
        ("dure 2 h 30.", "lasts 2.5 hours.", ("fr", "en"), []),
        ("dure 2 h 30.", "lasts 150 minutes.", ("fr", "en"), []),
        ("dure 2 h 30.", "lasts 150 seconds.", ("fr", "en"), ["numbers"]),
        ("2 hours 15 minutes", "2 h 15", ("en", "fr"), []),
        ("2 hours 15 minutes", "2 h 50", ("en", "fr"), ["numbers"]),
        ("1 hr 30 min", "1 Stunde 30 Minuten", ("en", "de"), []),
        ("1 hr 30 min", "1 Stunde und 30 Minuten", ("en", "de"), []),
        ("1 hr 30 min", "1 Stunde 40 Minuten", ("en", "de"), ["numbers"]),
        ("dure 2 h 15", "2時間15分かかります", ("fr", "ja"), []),
        ("dure 2 h 15", "135分", ("fr", "ja"), []),
        ("dure 2 h 15", "145分", ("fr", "ja"), ["numbers"]),
        ("part à 8 h 30", "leaves for 8 hours 30 minutes", ("fr", "en"), ["numbers"]),
        ("il est 8 h 30", "it is 8 hours 30 minutes", ("fr", "en"), ["numbers"]),
    ],
)
def test_facts_that_are_compared(
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
        ("Friday the 13th", "en", "fr", "Friday the 13"),
        ("au Ier siècle", "fr", "en", "au 1st siècle"),
        ("Elizabeth I died", "en", "fr", "Elizabeth Ire died"),
        ("8 out of 10", "en", "fr", "8 sur 10"),
        ("300 000 livres sterling", "fr", "en", "£300,000"),
    ],
)
def test_how_it_is_written(text: str, source: str, target: str, written: str) -> None:
    for start, end, form in reversed(number_forms(text, source, target, with_nouns=True)):
        text = text[:start] + form + text[end:]
    assert text == written


LOCALES = (
    "fr", "de", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "hu", "ro", "ru", "uk", "tr",
    "id", "vi", "ja", "zh", "ko", "ca", "nb", "sk", "bg", "el", "hr", "sl", "lt", "lv", "et",
)  # fmt: skip


@pytest.mark.parametrize("language", LOCALES)
def test_numbers_in_the_form_of_a_locale_are_read_back(language: str) -> None:
    """Rows: the same in English, another in English, and the form of the CLDR locale."""
    morning, afternoon = time(8, 5), time(15, 30)
    spring, autumn = date(2024, 5, 3), date(1999, 10, 21)
    number, amount = Decimal("1234567.5"), Decimal("1234.50")
    for same, other, written in (
        ("1,234,567.5", "1,234,568.5", format_decimal(number, locale=language)),
        ("12.25", "12.26", format_decimal(Decimal("12.25"), locale=language)),
        ("42%", "43%", format_percent(Decimal("0.42"), locale=language)),
        ("€1,234.50", "€1,234.60", format_currency(amount, "EUR", locale=language)),
        ("€1,234.50", "$1,234.50", format_currency(amount, "EUR", locale=language)),
        ("15:30", "15:45", format_time(afternoon, "short", locale=language)),
        ("3:30 pm", "4:30 pm", format_time(afternoon, "short", locale=language)),
        ("08:05", "8:06", format_time(morning, "short", locale=language)),
        ("3 May 2024", "4 May 2024", format_date(spring, "long", locale=language)),
        ("3 May 2024", "3 June 2024", format_date(spring, "long", locale=language)),
        ("21 October 1999", "21 October 1998", format_date(autumn, "long", locale=language)),
        ("21 October 1999", "21 March 1999", format_date(autumn, "long", locale=language)),
    ):
        answer = f"– {written}"
        assert not list(fact_faults(f"It is {same}.", answer, ("en", language))), written
        assert list(fact_faults(f"It is {other}.", answer, ("en", language))), written


@pytest.mark.parametrize(
    ("source", "translation", "faults"),
    [
        ("La quinzaine commence.", "The fifteen starts.", ("numbers",)),
        ("La quinzaine commence.", "The fortnight starts.", ()),
        ("Sur 12 km carrés.", "Over 12 square kilometres.", ()),
        ("À 149 miles à l'heure.", "At 149 miles per hour.", ()),
        ("Soit 1/5 po.", "Or 1/5 inch.", ()),
        ("Il a la quarantaine.", "He has quarantine.", ("numbers",)),
        ("Il a la quarantaine.", "He is in his forties.", ()),
        ("Le film dure deux heures et demie.", "The film lasts half past two.", ("numbers",)),
        ("Le film dure deux heures et demie.", "The film lasts two and a half hours.", ()),
        ("C'est à midi.", "It is at lunch.", ()),
        ("C'est à midi.", "It is at ten.", ("numbers",)),
    ],
)
def test_nouns_that_imply_numbers_and_units_of_french(
    source: str, translation: str, faults: tuple[str, ...]
) -> None:
    assert fact_faults(source, translation, ("fr", "en")) == faults


def test_noon_and_ages_are_facts() -> None:
    late = "The deadline is noon on Friday."
    assert fact_faults(late, "La date limite est vendredi.", ("en", "fr")) == ("numbers",)
    assert not fact_faults(late, "La date limite est vendredi à midi.", ("en", "fr"))
    assert may_have_facts("He is in his forties.", "en")
    assert fact_faults("He is in his forties.", "Il est dans ses forts.", ("en", "fr"))
    assert not fact_faults("He is in his forties.", "Il a la quarantaine.", ("en", "fr"))
