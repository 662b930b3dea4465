import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.text.glossary import Glossary
from app.translation.segments import layout
from app.translation.segments.layout import parts_of
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from model.decoding.hypothesis import SearchOptions
from model.text.text_codec import TextCodec

PIECES = st.sampled_from(
    ["The dog. ", "- A cat\n", "I like {x} and %s. ", "12 ", "😀 ", "привет ", "\n\n", "old cat. ",
     "https://a.example/b.c ", "« a ", "a" * 90 + " "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join), st.integers(1, 4), st.sampled_from([20, 8000]))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_parts_equal_the_whole(
    codec: TextCodec, text: str, n_sentences: int, n_characters: int
) -> None:
    glossary = Glossary({"old cat": "vieux chat", "dog": "clébard"})
    reading = Reading(codec, ("en", "fr"), 60, SearchOptions(), glossary=glossary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "PART_SENTENCES", n_sentences)
        patch.setattr(layout, "PART_CHARACTERS", n_characters)
        parts = list(parts_of(text, reading))
    assert "".join(part for _, part, _ in parts) == text
    read = [(start, SegmentedText(part, reading, layout=layout)) for start, part, layout in parts]
    found = [
        (segment.span.shifted(start), list(segment.source_ids), segment.stand_ins.text)
        for start, one in read
        for segment in one.segments
    ]
    whole = SegmentedText(text, reading).segments
    assert found == [(one.span, list(one.source_ids), one.stand_ins.text) for one in whole]


@pytest.mark.parametrize("unit", ["漢 a, ", "{x} a, ", "😀 a, ", "old cat, ", "{x, plural, {a "])
def test_a_long_text_takes_little_memory(codec: TextCodec, unit: str) -> None:
    glossary = Glossary({"old cat": "vieux chat"})
    reading = Reading(codec, ("en", "fr"), 60, SearchOptions(), glossary=glossary)
    text = unit * 10_000
    next(parts_of(unit, reading))
    tracemalloc.start()
    next(parts_of(text, reading))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 900_000 + 80 * 10_000 + 3 * 4 * len(text)  # one part, and little per character


def test_a_short_text_is_one_part_and_a_long_one_is_several(codec: TextCodec) -> None:
    reading = Reading(codec, ("en", "fr"), 60, SearchOptions())
    assert [start for start, *_ in parts_of("", reading)] == [0]
    n_parts = [len(list(parts_of("The dog.\n" * n, reading))) for n in (64, 65, 129)]
    assert n_parts == [1, 2, 3]
