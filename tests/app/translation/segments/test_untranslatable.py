from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.glossary import Glossary
from app.text.placeholders import find_placeholders
from app.text.spans import Spans, replace
from app.translation.segments.untranslatable import Untranslatable, find_untranslatable
from model.text.tokenizer import Tokenizer
from model.text.unknown_characters import UnknownCharacters
from tests.linear import assert_linear

SEQUENCES = (
    "😀", "👍🏽", "👨‍👩‍👧", "❤️", "🇫🇷", "3️⃣", "🏳️‍🌈", "👩🏾‍💻", "‼️", "✓", "→", "★★",
    "∞", "½", "CO₂", "\ufffd",
    "привет", "добрый день", "日本語", "שלום", "नमस्ते", "Čapek", "٢٥",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
)  # fmt: skip


@pytest.fixture(scope="module")
def unknown(tiny_checkpoint: Path) -> UnknownCharacters:
    return UnknownCharacters(Tokenizer.load(tiny_checkpoint / "sentencepiece.model"))


def found_in(
    text: str, unknown: UnknownCharacters, glossary: dict[str, str] | None = None
) -> Untranslatable:
    placeholders = find_placeholders(text)
    terms = Spans(term.span for term in Glossary(glossary or {}).find(text, placeholders))
    return find_untranslatable(text, unknown, placeholders, terms)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_is_one(sequence: str, unknown: UnknownCharacters) -> None:
    text = f"the cat {sequence} the dog"
    assert [span.of(text) for span in found_in(text, unknown).spans] == [sequence]


def test_readable_characters_are_left_to_the_model(unknown: UnknownCharacters) -> None:
    for text in ("the cat", "THE CAT", "the\u200dcat", "\x00 the cat", "¿the cat?"):
        assert found_in(text, unknown).spans == []


def test_an_adjacent_placeholder_is_joined_with_it(unknown: UnknownCharacters) -> None:
    text = "the {name} 👋 cat"
    assert [span.of(text) for span in found_in(text, unknown).spans] == ["{name} 👋"]


def test_segmentation_depends_only_on_stripped_characters(unknown: UnknownCharacters) -> None:
    text = "the 😀 привет 3️⃣ dog"
    kept = found_in(text, unknown)
    assert [span.of(text) for span in kept.masked] == ["😀 привет 3️⃣"]
    assert found_in("the 😀 cat", unknown).masked == []


def test_a_term_of_the_glossary_has_a_translation(unknown: UnknownCharacters) -> None:
    text = "the привет cat 😀 日本"
    kept = found_in(text, unknown, {"привет": "salut", "😀": "sourire"})
    assert [span.of(text) for span in kept.spans] == ["日本"]


@given(st.lists(st.sampled_from([*SEQUENCES, "the cat", "{x}", " ", ". ", "\n", "é"])).map("".join))
def test_spans_are_in_order_and_apart(unknown: UnknownCharacters, text: str) -> None:
    kept = found_in(text, unknown)
    for spans in (kept.spans, kept.masked):
        ends = [at for span in spans for at in span]
        assert ends == sorted(ends)
    assert "😀" not in replace(text, kept.spans, [" "] * len(kept.spans))


@pytest.mark.parametrize(
    "unit", ["😀", "a😀", "😀 ", "\u200d", "👩\u200d", "я", "я ", "²", "1\ufe0f", "🇫"]
)
def test_time_is_linear_in_the_length(unit: str, unknown: UnknownCharacters) -> None:
    assert_linear(lambda n: found_in(unit * n, unknown), 20_000 // len(unit))
