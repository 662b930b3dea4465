import pytest

from app.text.glossary import Glossary
from app.text.spans import Span
from app.translation.segments.reading import Reading, TermSpeller
from model.decoding.hypothesis import SearchOptions
from model.text.text_codec import TextCodec


def test_each_occurrence_is_a_constraint_equal_to_that_of_the_same_term(codec: TextCodec) -> None:
    terms = list(Glossary({"cat": "chat", "dog": "chien vert"}).find("cat dog cat"))
    first, second, third = TermSpeller(codec).constraints(terms)
    assert first == third != second
    forms = {codec.decode(wording.ids) for wording in second.wordings}
    assert forms == {"chien vert", "Chien vert"}


def test_terms_that_the_vocabulary_cannot_spell_are_left_out(codec: TextCodec) -> None:
    terms = list(Glossary({"cat": "ﬁ", "dog": "chien"}).find("cat dog"))
    assert len(TermSpeller(codec).constraints(terms)) == 1


@pytest.mark.parametrize("text", ["the c\u00adat", "the \u2068cat\u2069", "the c\u2060at"])
def test_a_model_is_not_given_invisible_characters(codec: TextCodec, text: str) -> None:
    reading = Reading(codec, ("en", "fr"), 200, SearchOptions())
    for with_tokens in (False, True):
        segment = reading.segment(Span(0, len(text)), text, (), with_tokens=with_tokens)
        assert segment.source_ids == codec.source_ids("the cat", "fr", "en")
        assert segment.stand_ins.text == text
