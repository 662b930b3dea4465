import itertools
import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import CheckpointError, LanguageError
from model.text.text_codec import Token
from model.text.tokenizer import Tokenizer, language_token
from model.training.data.vocabulary import train_tokenizer

SENTENCE = "The fox, s'il vous plaît."


def spans(tokens: list[Token]) -> list[tuple[str, int, int]]:
    """Return pieces with their spans, with the bytes of a character joined."""
    joined: list[tuple[str, int, int]] = []
    for is_byte, group in itertools.groupby(
        tokens, key=lambda token: (token.start, token.end) if "<0x" in token.piece else None
    ):
        if is_byte:
            joined.append(("bytes", *is_byte))
        else:
            joined += [(token.piece, token.start, token.end) for token in group]
    return joined


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # One piece per character, so that every offset is tested.
        ("qZ", [("▁", 0, 0), ("q", 0, 1), ("bytes", 1, 2)]),
        # Leading and trailing spaces belong to no piece, inner ones to the next.
        ("  q", [("▁", 2, 2), ("q", 2, 3)]),
        ("q   q  ", [("▁", 0, 0), ("q", 0, 1), ("▁", 1, 4), ("q", 4, 5)]),
        ("q\t\n q", [("▁", 0, 0), ("q", 0, 1), ("▁", 1, 4), ("q", 4, 5)]),
        # NFKC: every letter of a ligature has its span.
        ("qﬁq", [("▁", 0, 0), ("q", 0, 1), ("f", 1, 2), ("i", 1, 2), ("q", 2, 3)]),
        ("…q", [("▁", 0, 0), (".", 0, 1), (".", 0, 1), (".", 0, 1), ("q", 1, 2)]),
        # Full-width letters.
        ("ｑｑ", [("▁", 0, 0), ("q", 0, 1), ("q", 1, 2)]),
        # A letter and its combining mark are two code points that become one.
        ("qz\u0302q", [("▁", 0, 0), ("q", 0, 1), ("bytes", 1, 3), ("q", 3, 4)]),
        # Emoji, alone, joined by ZWJ and as flags: every code point has its own span.
        ("q👍q", [("▁", 0, 0), ("q", 0, 1), ("bytes", 1, 2), ("q", 2, 3)]),
        ("👩\u200d🔧q", [("▁", 0, 0), *(("bytes", i, i + 1) for i in range(3)), ("q", 3, 4)]),
        ("🇫🇷q", [("▁", 0, 0), ("bytes", 0, 1), ("bytes", 1, 2), ("q", 2, 3)]),
        # Right-to-left text: offsets count in the order of the string, not of the screen.
        ("שq", [("▁", 0, 0), ("bytes", 0, 1), ("q", 1, 2)]),
        ("q של q", [("▁", 0, 0), ("q", 0, 1), ("▁", 1, 2), ("bytes", 2, 3), ("bytes", 3, 4),
                    ("▁", 4, 5), ("q", 5, 6)]),
        # One character that becomes several words.
        ("ﷺq", [("▁", 0, 0), ("bytes", 0, 1), ("▁", 0, 1), ("bytes", 0, 1), ("▁", 0, 1),
                 ("bytes", 0, 1), ("▁", 0, 1), ("bytes", 0, 1), ("q", 1, 2)]),
        # A lone surrogate, NUL, and control characters, which the normaliser drops.
        ("q\ud800q", [("▁", 0, 0), ("q", 0, 1), ("▁", 1, 2), ("q", 2, 3)]),
        ("q\x00q", [("▁", 0, 0), ("q", 0, 1), ("bytes", 1, 2), ("q", 2, 3)]),
        ("q\x07q", [("▁", 0, 0), ("q", 0, 2), ("q", 2, 3)]),
        ("\x07q", [("▁", 0, 1), ("q", 1, 2)]),
        ("", []),
        ("   ", []),
        ("\ufeff", []),
    ],
)  # fmt: skip
def test_offsets(tokenizer: Tokenizer, text: str, expected: list[tuple[str, int, int]]) -> None:
    assert spans(tokenizer.tokenize(text)) == expected


@given(
    st.lists(
        st.sampled_from(
            ["a", "t", "s", "é", "e\u0301", "ﬁ", "ﬃ", "…", "½", "ｑ", "Ⅳ", "ǆ", "😀", "ש"]
        ),
        min_size=1,
        max_size=15,
    )
)
@settings(max_examples=200)
def test_pieces_cover_each_character_they_share(tokenizer: Tokenizer, atoms: list[str]) -> None:
    origin = [(0, 0)] * len("▁".encode())  # of each byte of the normal form
    position = 0
    for atom in atoms:
        normal = unicodedata.normalize("NFKC", atom).encode()
        origin += [(position, position + len(atom))] * len(normal)
        position += len(atom)
    offset = 0
    for token in tokenizer.tokenize("".join(atoms)):
        width = 1 if token.piece.startswith("<0x") else len(token.piece.encode())
        covered = origin[offset : offset + width]
        assert (token.start, token.end) == (covered[0][0], covered[-1][1])
        offset += width
    assert offset == len(origin)


@pytest.mark.parametrize("typed", ["<2fr>", "</s>", "<pad>", "<unk>", "<0x41>", "<s>"])
def test_a_special_token_typed_by_a_user_is_text(tokenizer: Tokenizer, typed: str) -> None:
    text = f"a {typed} b"
    ids = [token.id for token in tokenizer.tokenize(text)]
    special = {tokenizer.pad_id, tokenizer.eos_id, *map(tokenizer.language_id, ("en", "fr"))}
    assert not special & set(ids)
    assert tokenizer.decode(ids) == text


def test_a_source_is_language_pieces_and_end(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.encode_source(SENTENCE, "fr")
    assert tokens[0] == Token(tokenizer.language_id("fr"), "<2fr>", 0, 0)
    assert tokens[1:-1] == tokenizer.tokenize(SENTENCE)
    assert tokens[-1] == Token(tokenizer.eos_id, "</s>", len(SENTENCE), len(SENTENCE))


@given(st.text(st.characters(exclude_categories=()), max_size=40))
@settings(max_examples=200, deadline=None)
def test_ids_alone_are_those_of_the_tokens(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.encode_source(text, "fr")
    assert tokenizer.source_ids(text, "fr") == [token.id for token in tokens]


def test_a_target_is_pieces_and_end(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.encode_target(SENTENCE)
    assert tokens[:-1] == tokenizer.tokenize(SENTENCE)
    assert tokens[-1].id == tokenizer.eos_id


def test_an_empty_text_is_only_control_symbols(tokenizer: Tokenizer) -> None:
    assert [token.piece for token in tokenizer.encode_source("", "en")] == ["<2en>", "</s>"]
    assert tokenizer.decode([]) == ""


def test_batches_are_encoded_as_single_texts_are(tokenizer: Tokenizer) -> None:
    texts = [SENTENCE, "", "  ﬁ 👍"]
    assert tokenizer.encode_batch(texts) == [
        [token.id for token in tokenizer.tokenize(text)] for text in texts
    ]


def test_decoded_text_has_no_control_symbols(tokenizer: Tokenizer) -> None:
    ids = [token.id for token in tokenizer.encode_source(SENTENCE, "fr")]
    assert tokenizer.decode([*ids, tokenizer.pad_id]) == SENTENCE


def test_languages_are_those_of_the_control_symbols(tokenizer: Tokenizer) -> None:
    assert tokenizer.piece(tokenizer.language_id("en")) == language_token("en") == "<2en>"
    with pytest.raises(LanguageError, match="no target language 'de'; there are: en, fr"):
        tokenizer.language_id("de")


@given(
    st.text(
        st.one_of(
            st.characters(),
            st.characters(categories=["Cs"]),
            st.sampled_from("ab  éﬁﬃ…ﷺ½\u0301\u0302\u200d\ufe0f👩🇫🇷שא▁\ufffd\x00\x07\u3000가ᄀ"),
        ),
        max_size=40,
    )
)
@settings(max_examples=400)
def test_spans_are_monotone_and_pieces_the_normal_form(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.tokenize(text)
    for token in tokens:
        assert 0 <= token.start <= token.end <= len(text)
    for one, other in itertools.pairwise(tokens):
        assert one.start <= other.start
        assert one.end <= other.end
        # Gaps only where the normaliser drops characters, overlaps only within a character.
        assert other.start <= one.end or not tokenizer.tokenize(text[one.end : other.start])
    for token in tokens[1:]:
        assert token.start < token.end, "only the ▁ put before the first word stands for nothing"


@given(st.text(max_size=40))
@settings(max_examples=200)
def test_decoding_gives_back_the_normalised_text(tokenizer: Tokenizer, text: str) -> None:
    ids = [token.id for token in tokenizer.tokenize(text)]
    once = tokenizer.decode(ids)
    assert tokenizer.decode([token.id for token in tokenizer.tokenize(once)]) == once
    # SentencePiece's nmt_nfkc is NFKC except for white space and control characters.
    if text.isascii() and text.isprintable():
        assert once == " ".join(text.split())


@pytest.mark.parametrize(
    "text", ["ﬁn", "e\u0301té", "ｑ½Ⅳ①", "ǆ", "😀", "שלום", "لا", "가나", "㎏"]
)
def test_the_normal_form_is_nfkc(tokenizer: Tokenizer, text: str) -> None:
    ids = [token.id for token in tokenizer.tokenize(text)]
    assert tokenizer.decode(ids) == unicodedata.normalize("NFKC", text)


def test_offsets_are_right_after_other_text(tokenizer: Tokenizer) -> None:
    for before in ("ﬃ ", "é́ ", "👩\u200d🔧 ", "  \t ", "ﷺ ", "\ud800 ", "\x00 "):
        word = tokenizer.tokenize(before + "station")[-1]
        assert (before + "station")[: word.end] == before + "station"
        assert "station".endswith((before + "station")[word.start : word.end])


@pytest.mark.parametrize("garbage", [b"", b"garbage", b"\x00" * 100, b"\x80\x04K\x01."])
def test_garbage_is_not_a_model(garbage: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"x\.model: not a SentencePiece model"):
        Tokenizer(garbage, "x.model")


def test_a_damaged_model_is_refused_or_smaller_but_never_a_crash(tokenizer: Tokenizer) -> None:
    whole = tokenizer.serialized
    refused = 0
    for cut in random.Random(0).sample(range(len(whole)), 30):
        try:
            smaller = Tokenizer(whole[:cut])
        except CheckpointError:
            refused += 1
        else:
            assert smaller.vocab_size < tokenizer.vocab_size
    assert refused


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"none\.model: No such file or directory"):
        Tokenizer.load(tmp_path / "none.model")


def test_a_model_without_a_language_symbol_is_refused(tmp_path: Path, sentences: list[str]) -> None:
    train_tokenizer(sentences, [], 368, tmp_path / "x.model")
    with pytest.raises(CheckpointError, match=r"x\.model: has no target-language symbol"):
        Tokenizer.load(tmp_path / "x.model")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q q", [("▁", 0, 0), ("q", 0, 1), ("▁", 1, 2), ("q", 2, 3)]),
        ("q👍q", [("▁", 0, 0), ("q", 0, 1), ("bytes", 1, 2), ("q", 2, 3)]),
        ("שx", [("▁", 0, 0), ("bytes", 0, 1), ("x", 1, 2)]),
    ],
)
def test_spans_of_produced_pieces_by_hand(
    tokenizer: Tokenizer, text: str, expected: list[tuple[str, int, int]]
) -> None:
    decoded, tokens = tokenizer.decode_target([token.id for token in tokenizer.tokenize(text)])
    assert decoded == text
    assert spans(tokens) == expected


@given(st.lists(st.integers(0, 369), max_size=20))
@settings(max_examples=400)
def test_produced_ids_have_spans_in_the_decoded_text(tokenizer: Tokenizer, ids: list[int]) -> None:
    text, tokens = tokenizer.decode_target(ids)
    assert text == tokenizer.decode(ids)
    assert [token.id for token in tokens] == ids
    assert [token.piece for token in tokens] == [tokenizer.piece(one) for one in ids]
    for token in tokens:
        assert 0 <= token.start <= token.end <= len(text)
    for one, other in itertools.pairwise(tokens):
        assert one.start <= other.start
        assert one.end <= other.end
    covered = {position for token in tokens for position in range(token.start, token.end)}
    assert covered == set(range(len(text))), "every character was produced by some piece"


@given(st.data())
def test_prefixes_of_ids_spell_prefixes_of_texts(tokenizer: Tokenizer, data: st.DataObject) -> None:
    any_id = st.integers(0, tokenizer.vocab_size - 1)
    of_text = st.text(max_size=8).map(lambda text: [one.id for one in tokenizer.tokenize(text)])
    ids = data.draw(of_text) + data.draw(st.lists(any_id, max_size=8)) + data.draw(of_text)
    previous = ""
    for n in range(len(ids) + 1):
        beginning = tokenizer.decode(ids[:n]).rstrip("\ufffd")
        assert tokenizer.decode(ids).startswith(beginning)
        assert beginning.startswith(previous)
        previous = beginning


def test_bytes_that_form_no_character_and_unknown_pieces_are_left_out(tokenizer: Tokenizer) -> None:
    byte = {tokenizer.piece(one): one for one in range(tokenizer.vocab_size)}
    face = [byte[f"<0x{one:02X}>"] for one in "😀".encode()]
    [the] = [one.id for one in tokenizer.tokenize("the")][:1]
    for ids, text in (
        ([*face[:2], the, *face], "😀"), ([*face, tokenizer.unk_id, *face[:3]], "😀"),
        ([face[1], *face, face[1]], "😀"),
    ):  # fmt: skip
        decoded, tokens = tokenizer.decode_target(ids)
        assert decoded == tokenizer.decode(ids)
        assert decoded.count(text) == 1
        assert "\ufffd" not in decoded
        assert "⁇" not in decoded
        assert all(0 <= one.start <= one.end <= len(decoded) for one in tokens)
