"""Characters of every block of Unicode, with a vocabulary without bytes."""

import unicodedata
from collections.abc import Iterator

import pytest

from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.marian_tokenizer import MarianTokenizer
from tests.model.text.test_marian_tokenizer import learn, pieces_of, vocabulary

BLOCK = 512
FRAMES = ("the {} cat", "{} the cat", "the cat {}", "the cat{} sees", "the {}cat {} sees")
WORDS = "the cat sees a dog {name} {user} {count} {date} 4817 5926 7035 , . ? ' - ( ) : ;"


@pytest.fixture(scope="module")
def codec() -> MarianTokenizer:
    """A tokeniser as imported models have: unknown characters are `<unk>`."""
    pieces = learn(WORDS)
    content = {
        "source.spm": pieces, "target.spm": pieces, "vocab.json": vocabulary(*pieces_of(pieces)),
    }  # fmt: skip
    return MarianTokenizer(content, {}, "x")


def copied(text: str, codec: MarianTokenizer) -> SegmentedText:
    """Return a text as a model with this vocabulary copies it."""
    answer = SegmentedText(text, Reading(codec, ("en", "fr"), 200, SearchOptions()))
    while pending := answer.pending():
        for segment in pending:
            ids = [token.id for token in codec.encode_target(segment.stand_ins.text)[:-1]]
            segment.settle([Hypothesis(tuple(ids), (-0.5,) * (len(ids) + 1), -1.0, False)])
    return answer


def is_whole(character: str, answer: str) -> bool:
    """Whether a character, or its normalised form, is in an answer."""
    normal = unicodedata.normalize("NFKC", character)
    return character in answer or (normal.strip() or normal) in answer


def of_every_block() -> Iterator[str]:
    """Yield a printable character of each group of `BLOCK` code points."""
    for start in range(0, 0x110000, BLOCK):
        for code in range(start, start + BLOCK):
            if unicodedata.category(chr(code))[0] in "LMNPS":
                yield chr(code)
                break


@pytest.mark.parametrize("frame", FRAMES)
def test_characters_come_out_whole_or_flagged(codec: MarianTokenizer, frame: str) -> None:
    corrupted = []
    for character in of_every_block():
        text = copied(frame.replace("{}", character), codec)
        answer = text.answer().after
        assert "\ufffd" not in answer or character == "\ufffd"
        assert "⁇" not in answer or is_whole("⁇", character)
        if not (is_whole(character, answer) or text.flags):
            corrupted.append((character, unicodedata.name(character, ""), answer))
    assert corrupted == []
