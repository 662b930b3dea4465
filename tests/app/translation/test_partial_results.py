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
from tests.app.translation.segments.test_segmented_text import hypothesis_of, segmented


def live(text: str, codec: TextCodec) -> tuple[LiveText, SegmentedText, list[Event]]:
    events: list[Event] = []
    cut = segmented(text, codec)
    one = LiveText(Feed(7, EventRecorder(events), has_segments=True))
    one.add(0, cut)
    one.send()
    return one, cut, events


class EventRecorder:
    """Records the events of a stream."""

    def __init__(self, events: list[Event]) -> None:
        self.put = events.append

    async def drain(self) -> None:
        return


def streamed_text(events: list[Event]) -> str:
    return "".join(one.text for one in events if isinstance(one, TokenEvent))


def prefix_of(text: str, codec: TextCodec, n: int) -> tuple[int, ...]:
    return hypothesis_of(text, codec).ids[:n]


def test_certain_tokens_are_streamed_and_then_the_rest(codec: TextCodec) -> None:
    text, cut, events = live("- The dog.\n\nThe cat", codec)
    dog, cat = cut.segments
    assert streamed_text(events) == "- "
    LiveSegment(dog, text).agree(prefix_of("le chien.", codec, 2))
    first = streamed_text(events)
    assert first == "- " + codec.decode(prefix_of("le chien.", codec, 2)) != "- "
    LiveSegment(dog, text).agree(prefix_of("le chien.", codec, 2))
    assert streamed_text(events) == first
    LiveSegment(dog, text).agree(prefix_of("le chien.", codec, 4))
    LiveSegment(dog, text).settle([hypothesis_of("le chien.", codec)])
    assert streamed_text(events) == "- le chien.\n\n"
    LiveSegment(cat, text).settle([hypothesis_of("le chat", codec)])
    assert streamed_text(events) == "- le chien.\n\nle chat"
    assert all(one.index == 7 for one in events)


def test_a_later_sentence_waits_for_the_ones_before(codec: TextCodec) -> None:
    text, cut, events = live("The dog. The cat. A house.", codec)
    dog, cat, house = cut.segments
    LiveSegment(cat, text).agree(prefix_of("le chat.", codec, 3))
    LiveSegment(house, text).settle([hypothesis_of("une maison.", codec)])
    assert events == []
    LiveSegment(dog, text).settle([hypothesis_of("le chien.", codec)])
    assert streamed_text(events) == "le chien. " + codec.decode(prefix_of("le chat.", codec, 3))
    assert sum(isinstance(one, SegmentEvent) for one in events) == 1
    LiveSegment(cat, text).settle([hypothesis_of("le chat.", codec)])
    assert streamed_text(events) == "le chien. le chat. une maison."
    assert sum(isinstance(one, SegmentEvent) for one in events) == 3


def test_a_sentence_with_placeholders_is_streamed_once_its_answer_is_accepted(
    codec: TextCodec,
) -> None:
    text, cut, events = live("The {x} dog. A cat.", codec)
    dog, _ = cut.segments
    LiveSegment(dog, text).agree(prefix_of("le chien {name}.", codec, 3))
    LiveSegment(dog, text).settle(
        [hypothesis_of("le chien.", codec)]
    )  # lost, so it is retried in another form
    assert events == []
    other, cat = cut.pending()
    assert other is not dog
    LiveSegment(other, text).settle(
        [hypothesis_of("le chien.", codec)]
    )  # lost again: the text around it is translated separately
    assert streamed_text(events) == ""
    *around, _ = cut.pending()
    assert len(around) == 2
    for segment in around:
        LiveSegment(segment, text).settle([hypothesis_of("le", codec)])
    LiveSegment(cat, text).settle([hypothesis_of("un chat.", codec)])
    assert streamed_text(events) == cut.answer().after
    assert "{x}" in streamed_text(events)


def test_half_a_character_is_not_streamed(codec: TextCodec) -> None:
    text, cut, events = live("The dog", codec)
    [dog] = cut.segments
    ids = hypothesis_of("le 你", codec).ids
    for n in range(len(ids)):
        LiveSegment(dog, text).agree(ids[:n])
        assert "\ufffd" not in streamed_text(events)
    LiveSegment(dog, text).settle([hypothesis_of("le 你", codec)])
    assert streamed_text(events) == "le 你"


def test_a_text_without_words_is_streamed_at_once(codec: TextCodec) -> None:
    assert streamed_text(live("12 %", codec)[2]) == "12 %"
    assert live("", codec)[2] == []


def test_segments_only_where_they_are_of_the_text_as_sent(codec: TextCodec) -> None:
    events: list[Event] = []
    cut = segmented("The dog.", codec)
    text = LiveText(Feed(0, EventRecorder(events), has_segments=False))
    text.add(0, cut)
    LiveSegment(cut.segments[0], text).settle([hypothesis_of("le chien.", codec)])
    assert events == [TokenEvent(index=0, text="le chien.")]


words = st.sampled_from(
    ["le chien", "the", "{name}", "你好", "😀", "maison.", "a. b.", "", "4817 x"]
)


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_order_adds_up_to_the_answer(codec: TextCodec, data: st.DataObject) -> None:
    parts = st.sampled_from(["The dog. ", "- A cat\n", "I like {x} and %s. ", "12 ", "House "])
    text, cut, events = live("".join(data.draw(st.lists(parts, max_size=5))), codec)
    chosen: dict[Segment, Hypothesis] = {}
    while pending := cut.pending():
        text.send()
        segment = data.draw(st.sampled_from(pending))
        answer = chosen.setdefault(
            segment, hypothesis_of(" ".join(data.draw(st.lists(words))), codec)
        )
        if data.draw(st.booleans()):
            LiveSegment(segment, text).agree(
                answer.ids[: data.draw(st.integers(0, len(answer.ids)))]
            )
        else:
            LiveSegment(segment, text).settle([answer])
    text.send()
    whole = cut.answer()
    assert streamed_text(events) == whole.after
    segments = [one for one in events if isinstance(one, SegmentEvent)]
    assert [one.source for one in segments] == [
        (segment.span.start, segment.span.end) for segment in cut.segments
    ]
    assert [one.target for one in segments] == [(one.start, one.end) for one in whole.positions]
    ends = [len(streamed_text(events[: events.index(one)])) for one in segments]
    assert ends == [one.target[1] for one in segments]


def test_sentences_that_waited_for_the_first_are_streamed_in_portions(codec: TextCodec) -> None:
    n_sentences = 3 * MAX_SEGMENTS_AT_ONCE
    text, cut, events = live("The dog.\n" * n_sentences, codec)
    first, *others = cut.segments
    for segment in [*others, first]:
        LiveSegment(segment, text).settle([hypothesis_of("le chien.", codec)])
    n_streamed = [0, streamed_text(events).count("chien")]
    while text.send():
        n_streamed.append(streamed_text(events).count("chien"))
    assert n_streamed == [0, MAX_SEGMENTS_AT_ONCE, 2 * MAX_SEGMENTS_AT_ONCE]
    assert streamed_text(events) == cut.answer().after


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
        LiveSegment(segment, text).agree(prefix_of("le chien.", codec, 2))
    assert spelt == ["The dog."]


def test_the_parts_of_a_text_are_streamed_in_their_order(codec: TextCodec) -> None:
    text, dog, events = live("The dog. ", codec)
    cat = segmented("The cat.", codec)
    text.add(len("The dog. "), cat)
    LiveSegment(cat.segments[0], text).settle([hypothesis_of("le chat.", codec)])
    assert events == []
    LiveSegment(dog.segments[0], text).settle([hypothesis_of("le chien.", codec)])
    assert streamed_text(events) == "le chien. le chat."
    spans = [(one.source, one.target) for one in events if isinstance(one, SegmentEvent)]
    assert spans == [((0, 8), (0, 9)), ((9, 17), (10, 18))]


@pytest.mark.parametrize("direction", [("en", "zh"), ("zh", "en"), ("en", "fr")])
@pytest.mark.parametrize("n_agreed", [0, 1, 3])
def test_a_stream_joins_sentences_as_the_answer_does(
    codec: TextCodec, direction: tuple[str, str], n_agreed: int
) -> None:
    events: list[Event] = []
    text = LiveText(Feed(0, EventRecorder(events), has_segments=True))
    reading = Reading(codec, ("en", "fr"), 60, SearchOptions())
    source = "The dog. The cat!A {x} house! Old\nA dog."
    parts = [
        SegmentedText(one, reading, layout=layout) for _, one, layout in parts_of(source, reading)
    ]
    for part in parts:
        part._reading = replace(reading, direction=direction)  # the codec has one pair
        text.add(0, part)
        for segment in part.segments:
            translated = segment.stand_ins.text.lower()
            LiveSegment(segment, text).agree(prefix_of(translated, codec, n_agreed))
        for segment in part.segments:
            LiveSegment(segment, text).settle(
                [hypothesis_of(segment.stand_ins.text.lower(), codec)]
            )
    text.send()
    assert streamed_text(events) == "".join(part.answer().after for part in parts)
    targets = [one.target for one in events if isinstance(one, SegmentEvent)]
    assert [streamed_text(events)[start:end] for start, end in targets] == [
        segment.renderings[0].text for part in parts for segment in part.segments
    ]
