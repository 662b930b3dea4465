import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.facts.compared import fact_faults
from app.text.spans import Span, Spans
from app.translation.block import Block
from app.translation.segments.differences import differences, lost_facts
from tests.cases import cases
from tests.linear import assert_linear


@pytest.mark.parametrize(
    ("source", "target", "text", "translation", "expected"),
    [
        ("fr", "en", "Attendez 24 h.", "Wait 24 AM.", [("numbers", ["24 h"], ["24 AM"])]),
        ("en", "fr", "A rope of 30 ft.", "Une corde de 30 vols.", [("numbers", ["30 ft"], ["30"])]),
        ("en", "fr", "It costs $2 trillion.", "Ça coûte 2 $.",
         [("numbers", ["$2 trillion"], ["2 $"])]),
        ("en", "fr", "Twelve cats, 13 dogs.", "Douze chats, 14 chiens.",
         [("numbers", ["13"], ["14"])]),
        ("en", "fr", "5 cats, 7 dogs, 9 cows.", "9 vaches, 7 chiens.", [("numbers", ["5"], [])]),
        ("en", "fr", "On May 3rd we left.", "Le 3 juin nous sommes partis.",
         [("facts", ["May 3rd"], ["Le 3 juin"])]),
        ("en", "fr", "He died in 44 BC.", "Il est mort en 44.", [("facts", ["44 BC"], ["44"])]),
        ("en", "fr", "12 cats", "12 chats", []),
    ],
)  # fmt: skip
def test_the_span_of_a_fault(
    source: str, target: str, text: str, translation: str, expected: list[object]
) -> None:
    found = [
        (one.flag, [at.of(text) for at in one.source], [at.of(translation) for at in one.target])
        for one in differences(text, translation, (source, target))
    ]
    assert found == expected


WORDS = st.sampled_from(cases(__file__, "words"))
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@given(TEXTS, TEXTS, st.sampled_from([("en", "fr"), ("fr", "en"), ("en", "de"), ("xx", "ja")]))
def test_there_is_a_difference_for_each_fault_and_its_spans_are_in_order(
    text: str, translation: str, languages: tuple[str, str]
) -> None:
    found = differences(text, translation, languages)
    assert [one.flag for one in found] == [*fact_faults(text, translation, languages)]
    for one in found:
        for side, spans in ((text, one.source), (translation, one.target)):
            edges = [edge for span in spans for edge in span]
            assert edges == sorted(edges)
            assert not edges or edges[-1] <= len(side)


def test_copied_spans_are_not_compared() -> None:
    assert differences("Call 12-34 now", "Appelez 12-34", ("en", "fr"), ["12-34"]) == []
    assert lost_facts("Ring 01 42 68 53 00.", "Appelez le 01 42 68 53 00.", ("en", "fr")) == []
    assert lost_facts("I see 242 cats.", "Je vois 243 chats.", ("en", "fr")) == ["numbers"]
    assert lost_facts("I see cats.", "Je vois 243 chats.", ("en", "fr")) == []


def test_time_is_linear_in_the_number_of_numbers() -> None:
    def compared(n: int) -> None:
        text = " ".join(f"{at} cats" for at in range(n))
        other = text.replace(" cats", " chats").replace("100", "10")
        found = differences(text, other, ("en", "fr"))
        assert [at.of(text) for one in found for at in one.source] == (["100"] if n > 100 else [])

    assert_linear(compared, 1000)


def test_a_pivots_sentences_are_compared_with_those_of_the_first_text() -> None:
    text, between, last = "Il a 242 ans. Oui !", "He is old. Yes!", "Er ist 250 alt. Ja!"
    first = Block(text, answers=[between], languages=("fr", "en"))
    first.origins, first.sentences = Spans([(0, 13), (14, 19)]), Spans([(0, 10), (11, 15)])
    second = Block(between, before=first, answers=[last], languages=("fr", "de"))
    second.origins, second.sentences = Spans([(0, 10), (11, 15)]), Spans([(0, 15), (16, 19)])
    second.finish()
    assert second.flags == ["numbers"]
    second.answers, second.flags = [last.replace("250", "242")], []
    second.finish()
    assert second.flags == []
    assert [Span(*one).of(last) for one in second.sentences] == ["Er ist 250 alt.", "Ja!"]
