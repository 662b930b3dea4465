import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from app.errors import DeadlineExceededError
from app.observe.metrics import Metrics
from app.observe.timings import Timings
from app.scheduling.requests import QueueTimings
from app.text.glossary import Glossary
from app.translation.block import Block
from app.translation.partial_results import Feed
from app.translation.pipeline import RequestContext, translate_step
from app.translation.segments.reading import Reading, TermSpeller
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from model.text.text_codec import TextCodec
from tests.app.translation.segments.test_segmented_text import (
    hypothesis_of,
    reading,
    settle,
    with_alternatives,
)
from tests.app.translation.test_partial_results import EventRecorder


def with_terms(codec: TextCodec, glossary: dict[str, str]) -> Reading:
    one = reading(codec, max_tokens=80)
    return replace(one, glossary=Glossary(glossary), speller=TermSpeller(codec))


def searched(
    text: SegmentedText, codec: TextCodec, answers: Sequence[Sequence[str]]
) -> list[Segment]:
    """Answer each search of the only segment; return the searches."""
    found: list[Segment] = []
    for hypotheses in answers:
        [segment] = text.pending()
        found.append(segment)
        segment.settle([hypothesis_of(one, codec) for one in hypotheses])
    assert text.pending() == []
    assert all(segment.is_accepted for segment in text.segments)
    return found


def test_other_numbers_are_searched_again_with_stand_ins(codec: TextCodec) -> None:
    text = SegmentedText("the dog €1,234.5 the cat", reading(codec, max_tokens=80))
    read = settle(text, codec, {"the dog €1,234.5 the cat": "le chien 12 le chat",
                                "the dog 4817 the cat": "le chien 4817 le chat"})  # fmt: skip
    assert read == ["the dog €1,234.5 the cat", "the dog 4817 the cat"]
    assert (text.answer().after, text.flags) == ("le chien 1 234,5 € le chat", [])
    assert text.retried == {"numbers": 1}


def test_a_hypothesis_with_the_right_numbers_needs_no_other_search(codec: TextCodec) -> None:
    text = with_alternatives("the dog 12", codec)
    searched(text, codec, [["le chien 13", "un chien 12", "le chien 12"]])
    assert [text.answer(rank).after for rank in range(text.n_answers)] == [
        "un chien 12", "le chien 12",
    ]  # fmt: skip
    assert (text.flags, text.retried) == ([], {})


def test_without_numbers_one_hypothesis_is_enough(codec: TextCodec) -> None:
    [plain] = SegmentedText("the dog", reading(codec)).segments
    [numbered] = SegmentedText("the dog 1", reading(codec)).segments
    assert (plain.options.n_best, plain.may_be_replaced) == (1, False)
    assert (numbered.options.n_best, numbered.may_be_replaced) == (4, True)


def test_a_retry_that_fixes_nothing_or_is_worse_is_discarded(codec: TextCodec) -> None:
    text = SegmentedText("the old dog 12 the cat", reading(codec))
    copy = "the old dog {name} the cat"
    first, *_ = searched(text, codec, [["le vieux chien 13 le chat"], ["le vieux chien"], [copy]])
    assert text.segments == [first]
    assert (text.answer().after, text.flags) == ("le vieux chien 13 le chat", ["numbers"])
    assert text.retried == {"numbers": 2}


def test_sentences_cut_at_the_limit_are_not_searched_again(codec: TextCodec) -> None:
    text = SegmentedText("the dog 12", reading(codec))
    [segment] = text.pending()
    segment.settle([hypothesis_of("le chien", codec, capped=True)])
    assert text.pending() == []
    assert text.flags == ["length_capped", "numbers"]


def test_numbers_beside_placeholders_are_protected_with_them(codec: TextCodec) -> None:
    text = SegmentedText("the {a} dog 12", reading(codec))
    searched(text, codec, [["le chien {name} 13"], ["le chien 5926 4817"]])
    assert (text.answer().after, text.flags) == ("le chien 12 {a}", [])


SENTENCE = "The cat sees the dog."
TERMS = {"cat": "matou", "dog": "toutou"}


def test_terms_that_the_free_translation_has_are_not_constraints(codec: TextCodec) -> None:
    text = SegmentedText(SENTENCE, with_terms(codec, TERMS))
    [free] = searched(text, codec, [["Le chat voit le chien.", "Le matou voit le toutou."]])
    assert free.options.constraints == ()
    assert (text.answer().after, text.flags) == ("Le matou voit le toutou.", [])


def test_other_terms_are_required(codec: TextCodec) -> None:
    text = SegmentedText(SENTENCE, with_terms(codec, TERMS))
    _, bound, unbound = searched(
        text,
        codec,
        [["Le chat voit le chien."], ["Le matou voit le toutou."], ["Le {name} voit un {user}."]],
    )
    assert len(bound.options.constraints) == 2
    assert unbound.options.constraints == ()
    assert (text.answer().after, text.flags) == ("Le matou voit le toutou.", [])
    assert text.retried == {"glossary": 2}


@pytest.mark.parametrize(
    "salad",
    [
        "Le chat voit le chien.matou toutou.", "Le chat matou voit le chien toutou.",
        "Matou chat toutou le chien.", "Le toutou voit le matou.",
    ],
)  # fmt: skip
def test_misplaced_terms_are_replaced_by_stand_ins(codec: TextCodec, salad: str) -> None:
    text = SegmentedText(SENTENCE, with_terms(codec, TERMS))
    *_, last = searched(
        text, codec, [["Le chat voit le chien."], [salad], ["Le {name} voit un {user}."]]
    )
    assert last.stand_ins.text == "The {name} sees the {user}."
    assert (text.answer().after, text.flags) == ("Le matou voit un toutou.", [])


def test_a_constrained_term_is_taken_where_the_stand_in_is(codec: TextCodec) -> None:
    text = SegmentedText("The old cat.", with_terms(codec, {"old": "vieux"}))
    searched(text, codec, [["Le beau chat."], ["Le vieux chat."], ["Un {name} chat !"]])
    assert text.answer().after == "Le vieux chat."


def test_a_term_that_replaces_no_word_is_flagged(codec: TextCodec) -> None:
    text = SegmentedText("The old cat.", with_terms(codec, {"old": "vieux"}))
    answers = [["Le chat."], ["Le vieux chat."], ["Le {name} chat."], ["Le 4817 chat."]]
    searched(text, codec, answers)
    assert (text.answer().after, text.flags) == ("Le chat.", ["glossary_unmet"])


def test_if_every_attempt_fails_the_free_translation_is_flagged(codec: TextCodec) -> None:
    text = SegmentedText(SENTENCE, with_terms(codec, TERMS))
    salad = "Le chat voit le chien.matou toutou."
    searched(text, codec, [["Le chat voit le chien."], [salad], ["Le {name}."], ["Le 4817."]])
    assert (text.answer().after, text.flags) == ("Le chat voit le chien.", ["glossary_unmet"])
    assert text.retried == {"glossary": 3}


def test_a_term_at_the_start_of_a_sentence_has_its_capital(codec: TextCodec) -> None:
    text = SegmentedText("Cat sees.", with_terms(codec, {"cat": "matou"}))
    searched(text, codec, [["Chat voit."], ["Chat voit. matou"], ["{name} voit."]])
    assert text.answer().after == "Matou voit."


def test_giving_up_takes_what_there_is(codec: TextCodec) -> None:
    text = SegmentedText("The dog 12. The cat.", reading(codec))
    first, second = text.pending()
    first.settle([hypothesis_of("Le chien 13.", codec)])
    assert not text.give_up()
    second.settle([hypothesis_of("Le chat.", codec)])
    assert [segment.form.numbers for segment in text.pending()] == [True]
    assert text.give_up()
    assert (text.answer().after, text.flags) == ("Le chien 13. Le chat.", ["numbers"])
    assert text.pending() == []


def test_giving_up_keeps_no_terms_at_unconfirmed_positions(codec: TextCodec) -> None:
    text = SegmentedText(SENTENCE, with_terms(codec, TERMS))
    for answer in ("Le chat voit le chien.", "Le matou voit le toutou."):
        [segment] = text.pending()
        segment.settle([hypothesis_of(answer, codec)])
    text.pending()
    text.give_up()
    assert (text.answer().after, text.flags) == ("Le chat voit le chien.", ["glossary_unmet"])


class LateScheduler:
    """Answers the first search, and misses the deadline of the second."""

    def __init__(self, codec: TextCodec, answer: str) -> None:
        self.metrics = Metrics()
        self._answers = [hypothesis_of(answer, codec)]

    async def search(self, segments: Sequence[Any], **_: object) -> QueueTimings:
        if not self._answers:
            raise DeadlineExceededError("late")
        for segment in segments:
            segment.settle(self._answers)
        self._answers = []
        return QueueTimings()


@pytest.mark.parametrize("is_live", [False, True])
async def test_a_late_retry_leaves_the_first_answer(codec: TextCodec, is_live: bool) -> None:
    events: list[Any] = []
    scheduler = LateScheduler(codec, "le chien 13")
    step: Any = SimpleNamespace(
        reading=reading(codec), model=SimpleNamespace(scheduler=scheduler), direction=("en", "fr")
    )
    block = Block(
        "the dog 12", feed=Feed(0, EventRecorder(events), has_segments=False) if is_live else None
    )
    await translate_step([block], step, RequestContext(None, math.inf, Timings()))
    assert (block.answer().text, block.flags) == ("le chien 13", ["numbers"])
    assert "".join(one.text for one in events) == ("le chien 13" if is_live else "")
    assert (
        b'attend_segment_retries_total{reason="numbers"} 1.0' in scheduler.metrics.exposition()[0]
    )
    with pytest.raises(DeadlineExceededError):
        await translate_step([Block("the cat")], step, RequestContext(None, math.inf, Timings()))


@pytest.mark.parametrize(
    "foreign", ["привет", "😀 👍🏽", "👨‍👩‍👧", "日本語", "\ufffd", "½"],
)  # fmt: skip
def test_unreadable_characters_are_restored(codec: TextCodec, foreign: str) -> None:
    text = SegmentedText(f"The {foreign} cat", reading(codec))
    read = settle(text, codec, {"The {name} cat": "le {name} chat"})
    assert read == ["The {name} cat"]
    assert (text.answer().after, text.flags) == (f"le {foreign} chat", [])


def test_an_unreadable_text_is_flagged_as_a_copy(codec: TextCodec) -> None:
    text = SegmentedText("Привет, мир! Как дела?", reading(codec))
    assert text.pending() == []
    assert (text.answer().after, text.flags) == ("Привет, мир! Как дела?", ["copied_source"])


def test_numbers_of_terms_are_not_those_of_the_text(codec: TextCodec) -> None:
    text = SegmentedText("the cat sees the dog", with_terms(codec, {"cat": "chat 9"}))
    searched(text, codec, [["le chat 9 voit le chien"]])
    assert text.flags == []
