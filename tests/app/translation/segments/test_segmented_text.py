import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.text.segmentation import Split
from app.text.spans import Span
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.text_codec import TextCodec
from model.text.tokenizer import Tokenizer
from tests.app.text.test_placeholders import PLACEHOLDERS

MAX_TOKENS = 24


def reading(codec: TextCodec, split: Split = "sentences", max_tokens: int = MAX_TOKENS) -> Reading:
    return Reading(codec, ("en", "fr"), max_tokens, SearchOptions(), split)


def segmented(text: str, codec: TextCodec, split: Split = "sentences") -> SegmentedText:
    return SegmentedText(text, reading(codec, split))


def with_alternatives(text: str, codec: TextCodec) -> SegmentedText:
    options = SearchOptions(n_best=4)
    return SegmentedText(text, replace(reading(codec, max_tokens=80), options=options))


def hypothesis_of(
    text: str, codec: TextCodec, score: float = -1.0, capped: bool = False
) -> Hypothesis:
    ids = [token.id for token in codec.tokenize(text)]
    return Hypothesis(tuple(ids), (-0.1,) * (len(ids) + 1), score, capped)


def settle(text: SegmentedText, codec: TextCodec, translated: dict[str, str]) -> list[str]:
    """Answer all pending segments, copying unknown ones; return their sources."""
    read: list[str] = []
    while pending := text.pending():
        for segment in pending:
            source = segment.stand_ins.text
            read.append(source)
            segment.settle([hypothesis_of(translated.get(source, source), codec)])
    return read


def test_sentences_are_read_one_by_one_and_the_rest_stays(codec: TextCodec) -> None:
    text = segmented("- The dog. The cat.\n\n  😀 \tThe house", codec)
    read = settle(text, codec, {"The dog.": "Le chien.", "The house": "La maison"})
    assert read == ["The dog.", "The cat.", "The house"]
    answer = text.answer()
    assert answer.after == "- Le chien. The cat.\n\n  😀 \tLa maison"
    assert [place.of(answer.after) for place in answer.positions] == [
        "Le chien.", "The cat.", "La maison",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", " \n", "42", "https://x.org {n} %s", "😀", "…", "a@b.org 1.5"]
)
def test_texts_without_words_are_not_read(codec: TextCodec, text: str) -> None:
    nothing = segmented(text, codec)
    assert nothing.pending() == []
    assert nothing.answer().after == text
    assert (nothing.score(), nothing.log_probs, nothing.flags) == (0, [], [])


def test_a_lost_placeholder_is_tried_again_and_then_left_out(codec: TextCodec) -> None:
    text = segmented("The dog {{a}} sees https://x.org today.", codec)
    losing = {
        "The dog {name} sees {user} today.": "le {name} {name} chien",
        "The dog 4817 sees 5926 today.": "le 4817 chien",
        "The dog": "le chien",
        "today.": "aujourd'hui.",
    }
    assert settle(text, codec, losing) == [*[*losing][:3], "sees", "today."]
    assert text.answer().after == "le chien {{a}} sees https://x.org aujourd'hui."


def test_lost_words_beside_a_placeholder_are_retried(codec: TextCodec) -> None:
    text = segmented("The dog {x}.", codec)
    [segment] = text.pending()
    segment.settle([hypothesis_of("{name}.", codec), hypothesis_of("chien {name}.", codec)])
    assert (text.answer().after, text.flags) == ("chien {x}.", [])
    other = segmented("The dog {x}.", codec)
    losing = {"The dog {name}.": "{name}.", "The dog 4817.": "4817", "The dog": "le chien"}
    assert settle(other, codec, losing) == [*losing]
    assert (other.answer().after, other.flags) == ("le chien {x}.", [])


def test_a_placeholder_whose_words_stay_lost_is_flagged(codec: TextCodec) -> None:
    text = segmented("dog {x}", codec)
    assert settle(text, codec, dict.fromkeys(["dog {name}", "dog 4817", "dog"], "!"))[-1] == "dog"
    assert (text.answer().after, text.flags) == ("! {x}", ["truncated"])


def test_hypotheses_that_kept_every_placeholder_are_accepted(codec: TextCodec) -> None:
    text = with_alternatives("The {x}", codec)
    [segment] = text.pending()
    hypotheses = [hypothesis_of(t, codec) for t in ("le chien", "la {name}", "le {name} vert")]
    segment.settle(hypotheses)
    assert [text.answer(rank).after for rank in range(text.n_answers)] == ["la {x}", "le {x} vert"]
    assert segment.best == hypotheses[1]


def test_hypotheses_beyond_the_requested_ones_are_not_read(codec: TextCodec) -> None:
    [segment] = segmented("The {x}", codec).pending()
    segment.settle([hypothesis_of(t, codec) for t in ("le", "la {name}", "le {name} vert")])
    assert [one.text for one in segment.renderings] == ["la {x}"]


def test_scores_of_sentences_are_weighed_by_their_tokens(codec: TextCodec) -> None:
    text = with_alternatives("The dog. The cat.", codec)
    first, second = text.pending()
    first.settle([Hypothesis((5,) * 3, (-0.5,) * 4, -1.0, False)] * 2)
    second.settle(
        [Hypothesis((5,), (-2.0,) * 2, -4.0, False), Hypothesis((5,), (-3.0,) * 2, -7.0, True)]
    )
    assert text.score() == pytest.approx((4 * -1 + 2 * -4) / 6)
    assert text.score(1) == pytest.approx((4 * -1 + 2 * -7) / 6)
    assert math.fsum(text.log_probs) == pytest.approx(4 * -0.5 + 2 * -2)
    assert text.n_answers == 2


def test_flags_are_those_of_any_sentence(codec: TextCodec) -> None:
    text = segmented("The dog. The cat. The house. The old cat. ¿the old house.", codec)
    answers = [
        hypothesis_of("le", codec, capped=True),
        hypothesis_of("le chien " * 9, codec),
        hypothesis_of("The house.", codec),
        hypothesis_of("le vieux chat.", codec),
        hypothesis_of("la vieille maison.", codec),
    ]
    for segment, answer in zip(text.pending(), answers, strict=True):
        segment.settle([answer])
    assert text.flags == ["copied_source", "length_capped", "repetition", "unknown_characters"]


def test_improbable_sentences_are_doubtful(codec: TextCodec) -> None:
    text = segmented("The dog. The cat.", codec)
    first, second = text.pending()
    first.settle([hypothesis_of("le chien.", codec)])
    second.settle([Hypothesis((5,) * 9, (-0.9,) * 10, -9.0, False)])
    assert "doubtful" in text.flags


def test_a_long_source_with_a_short_answer_is_truncated(codec: TextCodec) -> None:
    text = segmented("the cat sees the dog and the cat and the dog sees the cat and the dog", codec)
    [segment] = text.pending()
    segment.settle([hypothesis_of("le", codec)])
    assert text.flags == ["truncated"]


def test_an_over_long_sentence_is_read_in_pieces(codec: TextCodec) -> None:
    sentence = ", ".join(["the old cat sees the green house"] * 12)
    text = segmented(sentence, codec, "off")
    read = settle(text, codec, {})
    assert len(read) > 1
    assert all(len(segment.source_ids) <= MAX_TOKENS for segment in text.segments)
    assert text.answer().after == sentence


def test_text_that_cannot_be_cut_small_enough_stays_and_is_flagged(codec: TextCodec) -> None:
    text = SegmentedText("\u0133. the", reading(codec, max_tokens=4))  # NFKC: two letters
    assert settle(text, codec, {}) == ["the"]
    assert text.answer().after == "\u0133. the"
    assert "truncated" in text.flags


def test_tokens_are_placed_in_the_text_as_sent(codec: TextCodec) -> None:
    source = "Cat! See https://x.org, dog."
    text = segmented(source, codec)
    second = text.segments[1]
    tokens = codec.encode_source(second.stand_ins.text, "fr")
    spans = [second.origin(Span(token.start, token.end)) for token in tokens]
    assert {"https://x.org", ","} <= {span.of(source) for span in spans}
    assert spans[0] == (5, 5)
    assert spans[-1] == (len(source), len(source))


@given(
    text=st.lists(
        st.sampled_from(PLACEHOLDERS) | st.sampled_from(["The cat ", "sees. ", ", ", "\n", "dog "]),
        max_size=12,
    ).map(" ".join),
    forgets=st.integers(0, 3),
    split=st.sampled_from(["sentences", "nonewlines", "off"]),
)  # fmt: skip
def test_each_placeholder_is_restored_once_for_any_output(
    codec: TextCodec, text: str, forgets: int, split: Split
) -> None:
    through = segmented(text, codec, split)
    n_read = 0
    while pending := through.pending():
        for segment in pending:
            answer = segment.stand_ins.text
            for lost in re.findall(r"\{\w+\}|\d{4,}", answer)[:forgets]:
                answer = answer.replace(lost, "")
            segment.settle([hypothesis_of(answer, codec)])
            n_read += 1
    assert n_read < 200
    answer = through.answer().after
    # Spaces between two of them may change, and an answer may make two adjacent.
    for placeholder in PLACEHOLDERS:
        assert answer.count(placeholder) == text.count(placeholder)


def test_a_long_text_without_sentences_is_not_tokenised_over_and_over(
    codec: TextCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_tokenised = 0
    source_ids = Tokenizer.source_ids

    def note(codec: Tokenizer, text: str, *languages: str) -> list[int]:
        nonlocal n_tokenised
        n_tokenised += len(text)
        return source_ids(codec, text, *languages)

    monkeypatch.setattr(Tokenizer, "source_ids", note)
    text = "a" * 200_000
    cut = segmented(text, codec)
    assert "".join(segment.span.of(text) for segment in cut.segments) == text
    # Halved from 768 characters, at most, to 24 tokens.
    assert n_tokenised <= 7 * len(text)


def in_direction(text: str, codec: TextCodec, *direction: str) -> SegmentedText:
    source, target = direction
    return SegmentedText(text, Reading(codec, (source, target), MAX_TOKENS, SearchOptions()))


class AnyLanguage(Tokenizer):
    """A codec for every language."""

    def source_ids(self, text: str, *_: str | None) -> list[int]:
        return super().source_ids(text, "fr")


@pytest.fixture(scope="module")
def any_language(tiny_checkpoint: Path) -> TextCodec:
    return AnyLanguage.load(tiny_checkpoint / "sentencepiece.model")


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("en", "zh", "A dog. The cat.\n\nA house.  Old.", "A dog.The cat.\n\nA house.  Old."),
        ("en", "ko", "A dog. The cat.", "A dog. The cat."),
        ("zh", "en", "A dog!The cat!\n A house!", "A dog! The cat!\n A house!"),
        ("zh", "ja", "A dog!The cat! Old", "A dog!The cat! Old"),
        ("en", "zh", "- A dog. {x}. The cat.", "- A dog. {x}. The cat."),
    ],
)
def test_sentences_are_joined_as_in_the_target_language(
    any_language: TextCodec, source: str, target: str, text: str, expected: str
) -> None:
    one = in_direction(text, any_language, source, target)
    settle(one, any_language, {})
    answer = one.answer()
    assert answer.after == expected
    assert [place.of(answer.after) for place in one.targets] == [
        segment.renderings[0].text for segment in one.segments
    ]
    for segment, place in zip(one.segments, one.targets, strict=True):
        assert answer.position_of(segment.span) == place


PIECES = ["A dog. ", "The cat!", " ", "\n", "{x} ", "Old house. ", "12 ", "😀 "]


@given(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.sampled_from([("en", "zh"), ("zh", "en"), ("ja", "ko"), ("en", "fr")]),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_only_single_spaces_between_sentences_change(
    any_language: TextCodec, text: str, direction: tuple[str, str]
) -> None:
    one = in_direction(text, any_language, *direction)
    settle(one, any_language, {})
    answer, targets = one.answer().after, one.targets
    ends = [Span(0, 0), *(segment.span for segment in one.segments), Span(len(text), len(text))]
    places = [Span(0, 0), *targets, Span(len(answer), len(answer))]
    for index in range(len(ends) - 1):
        before = text[ends[index].end : ends[index + 1].start]
        after = answer[places[index].end : places[index + 1].start]
        if before != after:
            assert 0 < index < len(ends) - 2
            assert {before, after} == {"", " "}
            assert direction != ("en", "fr")
