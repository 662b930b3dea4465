import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.placeholders import find_placeholders
from app.text.spans import Span
from app.text.stand_ins import FAMILIES, StandIns, Translated
from tests.app.text.test_placeholders import PLACEHOLDERS
from tests.cases import cases


def lifted(sentence: str, family: int = 0) -> StandIns:
    return StandIns(sentence, find_placeholders(sentence), FAMILIES[family])


def test_the_model_reads_stand_ins_and_the_client_gets_placeholders() -> None:
    stand_ins = lifted("See https://x.org/a, {{user}}!")
    assert stand_ins.text == "See {name}, {user}!"
    restored = stand_ins.restore("{user}, voir {name} !")
    assert restored
    assert restored.after == "{{user}}, voir https://x.org/a !"
    assert restored.position_of(Span(13, 19)).of(restored.after) == "https://x.org/a"


def test_a_stand_in_that_the_sentence_has_is_not_taken() -> None:
    stand_ins = lifted("In 4817 we were {{n}}.", family=1)
    assert stand_ins.text == "In 4817 we were 5926."


@pytest.mark.parametrize(
    "translation", cases(__file__, "a_translation_without_each_exactly_once_is_refused")
)
def test_a_translation_without_each_exactly_once_is_refused(translation: str) -> None:
    assert lifted("Hello https://x.org !").restore(translation) is None


def test_attached_placeholders_may_stay_attached() -> None:
    assert lifted("The {n}th day").restore("Le {name}e jour")
    assert lifted("The 5{n} day").restore("Le 5{name} jour")


@pytest.mark.parametrize(
    ("sentence", "read", "translation", "written"),
    cases(__file__, "a_word_that_a_tag_touches_is_read_by_itself"),
)
def test_words_beside_tags(sentence: str, read: str, translation: str, written: str) -> None:
    stand_ins = lifted(sentence)
    assert stand_ins.text == read
    restored = stand_ins.restore(translation)
    assert restored
    assert restored.after == written


def test_there_are_always_enough() -> None:
    sentence = " and ".join(["{x}"] * 40)
    for family in (0, 1):
        stand_ins = lifted(sentence, family)
        assert len(set(stand_ins.text.split(" and "))) == 40
        restored = stand_ins.restore(stand_ins.text)
        assert restored
        assert restored.after == sentence


@given(st.lists(st.sampled_from(PLACEHOLDERS), max_size=4), st.sampled_from([0, 1]), st.randoms())
def test_each_is_restored_once(
    placeholders: list[str], family: int, shuffled: random.Random
) -> None:
    words = [word for placeholder in placeholders for word in ("and", placeholder)]
    stand_ins = lifted(" ".join([*words, "end"]), family)
    read = stand_ins.text.split(" ")
    shuffled.shuffle(read)
    restored = stand_ins.restore(" and ".join(read))
    assert restored
    text = restored.after
    for placeholder in sorted(placeholders, key=len, reverse=True):  # one may contain another
        text = text.replace(placeholder, "", 1)
    assert set(text.split()) <= {"and", "end"}


def test_targets_bring_no_second_full_stop_and_are_elided_before_in_french() -> None:
    sentence = "We left Acme for a car."
    terms = [Translated(Span(8, 12), "Acme Inc."), Translated(Span(19, 22), "automobile")]
    stand_ins = StandIns(sentence, (), FAMILIES[0], terms)
    translation = "Pour la {user}, on a quitté {name}."
    for language, expected in (("fr", "l'automobile"), ("en", "la automobile")):
        restored = stand_ins.restore(translation, language)
        assert restored
        assert restored.after == f"Pour {expected}, on a quitté Acme Inc."
    restored = stand_ins.restore("{name}... {user}")
    assert restored
    assert restored.after == "Acme Inc.... automobile"
