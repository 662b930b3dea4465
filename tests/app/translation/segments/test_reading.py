from app.text.glossary import Glossary
from app.translation.segments.reading import TermSpeller
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
