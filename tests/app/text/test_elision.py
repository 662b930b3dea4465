import pytest

from app.text.elision import elisions, is_elided_before
from app.text.spans import Substitution
from tests.cases import cases


@pytest.mark.parametrize(
    ("text", "word", "corrected"), cases(__file__, "words_are_elided_before_vowels")
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
