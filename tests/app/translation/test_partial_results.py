from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.translation.answers import Event, SegmentEvent, TokenEvent
from app.translation.partial_results import MAX_SEGMENTS_AT_ONCE, Feed, LiveSegment, LiveText
from app.translation.segments.layout import parts_of
from app.translation.segments.reading import Reading
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.text_codec import TextCodec
from tests.app.translation.segments.test_segmented_text import said, segmented


def live(text: str, codec: TextCodec) -> tuple[LiveText, SegmentedText, list[Event]]:
    news: list[Event] = []
    cut = segmented(text, codec)
    one = LiveText(Feed(7, Kept(news), has_segments=True))
    one.add(0, cut)
    one.send()
    return one, cut, news


class Kept:
    """Keeps the events of a stream."""

    def __init__(self, news: list[Event]) -> None:
        self.put = news.append

    async def drain(self) -> None:
        return


def told(news: list[Event]) -> str:
    return "".join(one.text for one in news if isinstance(one, TokenEvent))


def begun(text: str, codec: TextCodec, n: int) -> tuple[int, ...]:
    return said(text, codec).ids[:n]


def test_certain_tokens_are_streamed_and_then_the_rest(codec: TextCodec) -> None:
    text, cut, news = live("- The dog.\n\nThe cat", codec)
    dog, cat = cut.segments
    assert told(news) == "- "
    LiveSegment(dog, text).agree(begun("le chien.", codec, 2))
    first = told(news)
    assert first == "- " + codec.decode(begun("le chien.", codec, 2)) != "- "
    LiveSegment(dog, text).agree(begun("le chien.", codec, 2))
    assert told(news) == first
    LiveSegment(dog, text).agree(begun("le chien.", codec, 4))
    LiveSegment(dog, text).settle([said("le chien.", codec)])
    assert told(news) == "- le chien.\n\n"
    LiveSegment(cat, text).settle([said("le chat", codec)])
    assert told(news) == "- le chien.\n\nle chat"
    assert all(one.index == 7 for one in news)


def test_a_later_sentence_waits_for_the_ones_before(codec: TextCodec) -> None:
    text, cut, news = live("The dog. The cat. A house.", codec)
    dog, cat, house = cut.segments
    LiveSegment(cat, text).agree(begun("le chat.", codec, 3))
    LiveSegment(house, text).settle([said("une maison.", codec)])
    assert news == []
    LiveSegment(dog, text).settle([said("le chien.", codec)])
    assert told(news) == "le chien. " + codec.decode(begun("le chat.", codec, 3))
    assert sum(isinstance(one, SegmentEvent) for one in news) == 1
    LiveSegment(cat, text).settle([said("le chat.", codec)])
    assert told(news) == "le chien. le chat. une maison."
    assert sum(isinstance(one, SegmentEvent) for one in news) == 3


def test_a_sentence_with_placeholders_is_streamed_once_its_answer_is_accepted(
    codec: TextCodec,
) -> None:
    text, cut, news = live("The {x} dog. A cat.", codec)
    dog, _ = cut.segments
    LiveSegment(dog, text).agree(begun("le chien {name}.", codec, 3))
    LiveSegment(dog, text).settle(
        [said("le chien.", codec)]
    )  # lost, so it is to be read in another form
    assert news == []
    other, cat = cut.pending()
    assert other is not dog
    LiveSegment(other, text).settle(
        [said("le chien.", codec)]
    )  # lost again: what is around it is read alone
    assert told(news) == ""
    *around, _ = cut.pending()
    assert len(around) == 2
    for segment in around:
        LiveSegment(segment, text).settle([said("le", codec)])
    LiveSegment(cat, text).settle([said("un chat.", codec)])
    assert told(news) == cut.answer().after
    assert "{x}" in told(news)


def test_half_a_character_is_not_streamed(codec: TextCodec) -> None:
    text, cut, news = live("The dog", codec)
    [dog] = cut.segments
    ids = said("le 你", codec).ids
    for n in range(len(ids)):
        LiveSegment(dog, text).agree(ids[:n])
        assert "\ufffd" not in told(news)
    LiveSegment(dog, text).settle([said("le 你", codec)])
    assert told(news) == "le 你"


def test_a_text_without_words_is_streamed_at_once(codec: TextCodec) -> None:
    assert told(live("12 %", codec)[2]) == "12 %"
    assert live("", codec)[2] == []


def test_segments_only_where_they_are_of_the_text_as_sent(codec: TextCodec) -> None:
    news: list[Event] = []
    cut = segmented("The dog.", codec)
    text = LiveText(Feed(0, Kept(news), has_segments=False))
    text.add(0, cut)
    LiveSegment(cut.segments[0], text).settle([said("le chien.", codec)])
    assert news == [TokenEvent(index=0, text="le chien.")]


words = st.sampled_from(
    ["le chien", "the", "{name}", "你好", "😀", "maison.", "a. b.", "", "4817 x"]
)


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_order_adds_up_to_the_answer(codec: TextCodec, data: st.DataObject) -> None:
    parts = st.sampled_from(["The dog. ", "- A cat\n", "I like {x} and %s. ", "12 ", "House "])
    text, cut, news = live("".join(data.draw(st.lists(parts, max_size=5))), codec)
    chosen: dict[Segment, Hypothesis] = {}
    while pending := cut.pending():
        text.send()
        segment = data.draw(st.sampled_from(pending))
        answer = chosen.setdefault(segment, said(" ".join(data.draw(st.lists(words))), codec))
        if data.draw(st.booleans()):
            LiveSegment(segment, text).agree(
                answer.ids[: data.draw(st.integers(0, len(answer.ids)))]
            )
        else:
            LiveSegment(segment, text).settle([answer])
    text.send()
    whole = cut.answer()
    assert told(news) == whole.after
    segments = [one for one in news if isinstance(one, SegmentEvent)]
    assert [one.source for one in segments] == [
        (segment.span.start, segment.span.end) for segment in cut.segments
    ]
    assert [one.target for one in segments] == [(one.start, one.end) for one in whole.positions]
    ends = [len(told(news[: news.index(one)])) for one in segments]
    assert ends == [one.target[1] for one in segments]


def test_sentences_that_waited_for_the_first_are_streamed_in_portions(codec: TextCodec) -> None:
    n_sentences = 3 * MAX_SEGMENTS_AT_ONCE
    text, cut, news = live("The dog.\n" * n_sentences, codec)
    first, *others = cut.segments
    for segment in [*others, first]:
        LiveSegment(segment, text).settle([said("le chien.", codec)])
    n_told = [0, told(news).count("chien")]
    while text.send():
        n_told.append(told(news).count("chien"))
    assert n_told == [0, MAX_SEGMENTS_AT_ONCE, 2 * MAX_SEGMENTS_AT_ONCE]
    assert told(news) == cut.answer().after


def test_only_the_sentence_that_is_next_is_spelt_while_it_is_searched(
    codec: TextCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelt: list[str] = []
    text, cut, _ = live("The dog. A cat. A house.", codec)

    def spell(segment: Segment) -> str:
        spelt.append(segment.span.of(cut.text))
        return ""

    monkeypatch.setattr("app.translation.partial_results._agreed", spell)
    for segment in reversed(cut.segments):
        LiveSegment(segment, text).agree(begun("le chien.", codec, 2))
    assert spelt == ["The dog."]


def test_the_parts_of_a_text_are_streamed_in_their_order(codec: TextCodec) -> None:
    text, dog, news = live("The dog. ", codec)
    cat = segmented("The cat.", codec)
    text.add(len("The dog. "), cat)
    LiveSegment(cat.segments[0], text).settle([said("le chat.", codec)])
    assert news == []
    LiveSegment(dog.segments[0], text).settle([said("le chien.", codec)])
    assert told(news) == "le chien. le chat."
    spans = [(one.source, one.target) for one in news if isinstance(one, SegmentEvent)]
    assert spans == [((0, 8), (0, 9)), ((9, 17), (10, 18))]


@pytest.mark.parametrize("direction", [("en", "zh"), ("zh", "en"), ("en", "fr")])
@pytest.mark.parametrize("n_agreed", [0, 1, 3])
def test_a_stream_joins_sentences_as_the_answer_does(
    codec: TextCodec, direction: tuple[str, str], n_agreed: int
) -> None:
    news: list[Event] = []
    text = LiveText(Feed(0, Kept(news), has_segments=True))
    reading = Reading(codec, ("en", "fr"), 60, SearchOptions())
    source = "The dog. The cat!A {x} house! Old\nA dog."
    parts = [
        SegmentedText(one, reading, layout=layout) for _, one, layout in parts_of(source, reading)
    ]
    for part in parts:
        part._reading = replace(reading, direction=direction)  # the codec knows one pair
        text.add(0, part)
        for segment in part.segments:
            translated = segment.stand_ins.text.lower()
            LiveSegment(segment, text).agree(begun(translated, codec, n_agreed))
        for segment in part.segments:
            LiveSegment(segment, text).settle([said(segment.stand_ins.text.lower(), codec)])
    text.send()
    assert told(news) == "".join(part.answer().after for part in parts)
    targets = [one.target for one in news if isinstance(one, SegmentEvent)]
    assert [told(news)[start:end] for start, end in targets] == [
        segment.renderings[0].text for part in parts for segment in part.segments
    ]
