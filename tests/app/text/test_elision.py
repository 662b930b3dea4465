import pytest

from app.text.elision import elisions, is_elided_before
from app.text.spans import Substitution


@pytest.mark.parametrize(
    ("text", "word", "corrected"),
    [
        ("devant la automobile", "automobile", "devant l'automobile"),
        ("Le usager", "usager", "L'usager"),
        ("L' établissement", "établissement", "L'établissement"),
        ("près du étang", "étang", "près de l'étang"),
        ("qu’ elle", "elle", "qu’elle"),
        ("la URL", "URL", "la URL"),
        ("le matou", "matou", "le matou"),
        ("cela automobile", "automobile", "cela automobile"),
        ("automobile", "automobile", "automobile"),
    ],
)
def test_words_are_elided_before_vowels(text: str, word: str, corrected: str) -> None:
    found = list(elisions(text, [(text.index(word), word)]))
    spans, replacements = [span for span, _ in found], [written for _, written in found]
    assert Substitution(text, spans, replacements).after == corrected


def test_an_elided_article_needs_a_vowel() -> None:
    assert is_elided_before("L'note de débit est là", "note de débit")
    assert not is_elided_before("la note de débit est là", "note de débit")
    assert not is_elided_before("l'automobile", "automobile")
    assert not is_elided_before("l'homme", "homme")
    assert not is_elided_before("l'42", "42")
