import pytest

from app.translation.segments.names import find_names, has_misspelt_name, lost_names


def is_word(letters: str) -> bool:
    return letters in {"not", "new", "free", "to", "pas"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The FBI and the HCoV on MySpace", ["FBI", "HCoV", "MySpace"]),
        ("l'ONU et les ONGs", ["ONU", "ONG"]),
        ("Do NOT open a NEW box", []),
        ("THE FBI CAME", []),
        ("Louis XIV, the XVIIIth century, EUR 5, 44 BC", []),
        ("the 737 MAX", ["737 MAX"]),
        ("plain words", []),
    ],
)
def test_names_are_words_with_capitals_within(text: str, names: list[str]) -> None:
    assert list(find_names(text, "en", is_word)) == names


@pytest.mark.parametrize(
    ("name", "translation", "is_lost"),
    [
        ("FBI", "le FBI", False),
        ("FBI", "the IBI", True),
        ("CERN", "the ERN", True),
        ("EAGGF", "the EAGGGF", True),
        ("NASA", "an agency", True),
        ("IMF", "le FMI", False),
        ("AIDS", "le sida", False),
        ("WHO", "l'OMS", False),
        ("TV", "la télévision", False),
        ("MySpace", "Mon espace", True),
        ("FBI", "ФБР", False),
    ],
)
def test_a_name_is_lost_if_it_is_missing_or_misspelt(
    name: str, translation: str, is_lost: bool
) -> None:
    assert bool(lost_names([name], translation)) == is_lost


@pytest.mark.parametrize(
    ("source", "translation", "is_misspelt"),
    [
        ("the Higgs boson", "le boson de Hyggs", True),
        ("Vercingétorix fut vaincu", "Vercingtorix was defeated", True),
        ("Vercingétorix fut vaincu", "Vercingetorix was defeated", False),
        ("in Norway", "en Norvège", False),
        ("en Grèce", "in Greece", False),
        ("Caesar died", "César est mort", False),
        ("the Americans", "les Américains", False),
        ("A HIGGS BOSON", "Hyggs", False),
        ("plain words", "des mots Simples", False),
    ],
)
def test_a_name_with_other_letters_within_is_misspelt(
    source: str, translation: str, is_misspelt: bool
) -> None:
    language = "fr" if source.startswith(("Ver", "en")) else "en"
    assert has_misspelt_name(source, translation, language, is_word) == is_misspelt
