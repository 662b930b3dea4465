"""Protected facts are preserved with any output of a model."""

import re
from collections.abc import Callable
from random import Random

import pytest

from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from benchmarks.written_facts import written_sentences
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.text_codec import TextCodec

LANGUAGES = (
    "en", "fr", "de", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "hu", "ro", "ru", "tr",
    "id", "vi", "ja", "zh", "ar", "hi", "xx",
)  # fmt: skip
KINDS = ("telephone", "identifier", "code", "path", "address", "name", "mention")
FACTS = sorted(
    {
        (one.kind, one.text, part[1:])
        for one in written_sentences()[:1168]  # later ones have facts that are compared, too
        if one.kind in KINDS and one.expected.startswith("=")
        for part in (one.expected.split(" & ") if " & =" in one.expected else [one.expected])
    }
)


def garbled(text: str, random: Random) -> str:
    """Reverse the words and change the digits, except of stand-ins for variables."""
    parts = re.split(r"(\{\w+\})", text)
    return "".join(
        part if part.startswith("{") else "".join(random.sample(part, len(part))) for part in parts
    )


def dropped(text: str, random: Random) -> str:
    """Drop the text."""
    return "zzz " * random.randint(1, 5)


def answer(
    text: str, codec: TextCodec, direction: tuple[str, str], model: Callable[[str, Random], str]
) -> str:
    random = Random(text)
    segmented = SegmentedText(text, Reading(codec, direction, 200, SearchOptions()))
    while pending := segmented.pending():
        for segment in pending:
            translation = model(segment.stand_ins.text, random)
            ids = tuple(token.id for token in codec.tokenize(translation))
            segment.settle([Hypothesis(ids, (-0.5,) * (len(ids) + 1), -1.0, False)])
    return segmented.answer().after


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("model", [garbled, dropped])
def test_facts_are_kept(
    language: str, model: Callable[[str, Random], str], codec: TextCodec
) -> None:
    random = Random(language)
    for kind, text, fact in random.sample(FACTS, 60):
        for direction in ((language, "en"), (language, "fr")):
            assert fact in answer(text, codec, direction, model), (kind, text, direction)
