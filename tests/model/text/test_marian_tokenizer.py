import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from model.errors import CheckpointError, LanguageError
from model.text import marian_tokenizer
from model.text.marian_tokenizer import MarianTokenizer, read_pieces, symbols
from model.text.text_codec import Token

SYMBOLS = {"fr": ">>fra<<", "es": ">>spa<<"}


def learn(words: str, **options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([words] * 30), model_writer=model, vocab_size=60,
        hard_vocab_limit=False, minloglevel=2, **options,
    )  # fmt: skip
    return model.getvalue()


def pieces_of(serialized: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(serialized)
    return [processor.id_to_piece(index) for index in range(3, processor.vocab_size())]


SOURCE = learn("the weather is nice today and the dog sees a cat")
TARGET = learn("il fait beau et le chien voit une chatte")


def vocabulary(*pieces: str) -> bytes:
    listed = dict.fromkeys(["</s>", "<unk>", *pieces, "<pad>"])
    return json.dumps({piece: index for index, piece in enumerate(listed)}).encode()


def files(**changes: bytes) -> dict[str, bytes]:
    both = [*SYMBOLS.values(), *pieces_of(SOURCE), *pieces_of(TARGET)]
    content = {"source.spm": SOURCE, "target.spm": TARGET, "vocab.json": vocabulary(*both)}
    return content | {name.replace("__", "."): value for name, value in changes.items()}


SINGLE = MarianTokenizer(files(), {}, "x")
SEVERAL = MarianTokenizer(files(), SYMBOLS, "x")


def test_a_single_target_needs_no_symbol() -> None:
    text = "the dog"
    tokens = SINGLE.encode_source(text, "whatever")
    assert "".join(token.piece for token in tokens) == "▁the▁dog</s>"
    assert SINGLE.n_control_tokens == 1
    assert SINGLE.can_translate_to("whatever")
    assert [token.id for token in SINGLE.encode_source("", "fr")] == [SINGLE.eos_id] == [0]


def test_one_of_several_targets_is_selected_by_its_symbol() -> None:
    tokens = SEVERAL.encode_source("the dog", "es")
    assert tokens[0].piece == ">>spa<<"
    assert (tokens[0].start, tokens[0].end) == (0, 0)
    assert SEVERAL.n_control_tokens == 2
    assert SEVERAL.can_translate_to("fr")
    assert not SEVERAL.can_translate_to("de")
    with pytest.raises(LanguageError, match="no target language 'de'; there are: fr, es"):
        SEVERAL.encode_source("the dog", "de")


def test_ids_are_the_vocabularys_and_not_sentencepieces() -> None:
    ids = json.loads(files()["vocab.json"])
    for token in SINGLE.tokenize("the weather"):
        assert token.id == ids[token.piece]


def test_a_piece_that_the_vocabulary_lacks_is_unknown() -> None:
    few = MarianTokenizer(files(vocab__json=vocabulary("▁the")), {}, "x")
    assert {token.id for token in few.tokenize("nice")} == {1}
    assert {token.id for token in SINGLE.tokenize("☃")} >= {1}


def test_a_given_target_is_read_by_the_targets_vocabulary() -> None:
    source = [
        *pieces_of(SOURCE),
        *pieces_of(TARGET),
        "x",
    ]  # equal sizes, since <pad> is the last of both
    target = [*reversed(pieces_of(TARGET)), *pieces_of(SOURCE), ">>fra<<"]
    tokenizer = MarianTokenizer(
        files(vocab__json=vocabulary(*source), target_vocab__json=vocabulary(*target)), {}, "x"
    )
    text = "le chien voit"
    tokens = tokenizer.encode_target(text)
    assert tokenizer.decode([token.id for token in tokens]) == text
    assert [token.piece for token in tokens] == [tokenizer.piece(token.id) for token in tokens]
    assert tokens[-1] == Token(tokenizer.eos_id, "</s>", len(text), len(text))
    assert tokens[-2].end == len(text)
    typed = {tokenizer.piece(token.id) for token in tokenizer.encode_target(">>fra<< </s>")[:-1]}
    assert typed.isdisjoint({">>fra<<", "</s>"})


def test_typed_symbols_stay_text() -> None:
    typed = learn("the weather >>fra<<", user_defined_symbols=[">>fra<<"])
    tokenizer = MarianTokenizer(files(source__spm=typed), SYMBOLS, "x")
    for one in (tokenizer, SEVERAL):
        ids = {token.id for token in one.tokenize(">>fra<< the </s> <pad>")}
        assert ids.isdisjoint({0, one.pad_id, one.encode_source("", "fr")[0].id})


@given(st.text(max_size=30))
def test_every_piece_has_its_span(text: str) -> None:
    tokens = SINGLE.encode_source(text, "fr")
    for token in tokens:
        assert 0 <= token.start <= token.end <= len(text)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_ids_alone_are_those_of_the_tokens(text: str) -> None:
    for one, language in ((SINGLE, "whatever"), (SEVERAL, "es")):
        tokens = one.encode_source(text, language)
        assert one.source_ids(text, language) == [token.id for token in tokens]


def test_spans_by_hand() -> None:
    places = [(token.piece, token.start, token.end) for token in SINGLE.tokenize("a  the ☃")]
    assert places == [
        ("▁a", 0, 1), ("▁", 1, 3), ("the", 3, 6), ("▁", 6, 7), ("☃", 7, 8),
    ]  # fmt: skip


@given(st.lists(st.integers(0, SINGLE.target_vocab_size - 1), max_size=20))
def test_every_produced_piece_has_its_span_in_the_text(ids: list[int]) -> None:
    text, tokens = SEVERAL.decode_target(ids)
    assert text == SEVERAL.decode(ids) == text.strip()
    assert [token.id for token in tokens] == ids
    end = 0
    for token in tokens:
        assert token.start == end
        end = token.end
        silent = token.piece in ("</s>", "<unk>", "<pad>", *SYMBOLS.values())
        expected = "" if silent else token.piece.replace("▁", " ").strip()
        assert text[token.start : token.end].strip() == expected
    assert end == len(text)


def test_text_is_restored() -> None:
    text = "il fait beau"
    ids = json.loads(files()["vocab.json"])
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(TARGET)
    produced = [ids[piece] for piece in processor.encode(text, out_type=str)]
    assert SEVERAL.decode([ids[">>fra<<"], *produced, 1, 0, SEVERAL.pad_id]) == text


def test_separate_vocabularies() -> None:
    source, target = (["<pad>", *pieces_of(model)] for model in (SOURCE, TARGET))
    tokenizer = MarianTokenizer(
        files(vocab__json=vocabulary(*source), target_vocab__json=vocabulary(*target)), {}, "x"
    )
    assert tokenizer.separate
    assert tokenizer.source_vocab_size == len(source) + 2
    assert tokenizer.target_vocab_size == len(target) + 2
    assert tokenizer.piece(3) == target[1]
    assert tokenizer.tokenize("the")[0].id == source.index(tokenizer.tokenize("the")[0].piece) + 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source__spm": b"garbage"}, "x/source.spm: not a SentencePiece model"),
        ({"target__spm": b""}, "x/target.spm: not a SentencePiece model"),
        ({"vocab__json": b"{"}, "x/vocab.json: not JSON"),
        ({"vocab__json": b"[1]"}, "x/vocab.json: not an object of pieces and ids"),
        ({"vocab__json": b'{"a": "b"}'}, "x/vocab.json: not an object of pieces and ids"),
        ({"vocab__json": b'{"a": true}'}, "x/vocab.json: not an object of pieces and ids"),
        ({"vocab__json": b'{"a": 1}'}, "x/vocab.json: ids must be 0 … 0, each once; 'a' has 1"),
        ({"vocab__json": b'{"</s>": 0, "<unk>": 1}'}, "x/vocab.json: has no <pad> piece"),
        (
            {"target_vocab__json": b'{"<unk>": 0, "</s>": 1, "<pad>": 2}'},
            "x: </s> is 0 in vocab.json, 1 in target_vocab.json",
        ),
    ],
)
def test_files_that_are_damaged_or_do_not_fit(changes: dict[str, bytes], message: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        MarianTokenizer(files(**changes), {}, "x")
    assert str(caught.value).startswith(message)


ODD = st.text('":,{}[] \\\n1a▁é', max_size=4)


@given(
    pieces=st.lists(ODD, min_size=1, max_size=30, unique=True),
    indent=st.sampled_from([None, 0, 2]),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]),
    in_order=st.booleans(),
)
def test_a_vocabulary_is_parsed_in_parts(
    pieces: list[str], indent: int | None, separators: tuple[str, str], in_order: bool
) -> None:
    entries = list(enumerate(pieces))[:: 1 if in_order else -1]
    listed = {piece: index for index, piece in entries}
    written = json.dumps(listed, indent=indent, separators=separators, ensure_ascii=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marian_tokenizer, "_AT_A_TIME", 1)
        assert read_pieces({"vocab.json": written.encode()}, "vocab.json", "x") == pieces


@pytest.mark.parametrize("content", [b'{"a": 0, "b": 1', b'{"a": 0, "b": 1,}', b'["a": 0, "b": 1]'])
def test_parts_of_a_damaged_vocabulary(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marian_tokenizer, "_AT_A_TIME", 1)
    with pytest.raises(CheckpointError, match=r"x/vocab\.json: not JSON"):
        read_pieces({"vocab.json": content}, "vocab.json", "x")


def test_a_symbol_that_the_vocabulary_lacks() -> None:
    with pytest.raises(CheckpointError, match="has no piece >>deu<<"):
        MarianTokenizer(files(), {"de": ">>deu<<"}, "x")


@pytest.mark.parametrize("missing", ["source.spm", "target.spm", "vocab.json", "target_vocab.json"])
def test_a_missing_file(tmp_path: Path, missing: str) -> None:
    present = files(target_vocab__json=files()["vocab.json"])
    for name in present.keys() - {missing}:
        (tmp_path / name).write_bytes(present[name])
    with pytest.raises(CheckpointError, match=f"{missing}: No such file"):
        MarianTokenizer.load(tmp_path, {}, separate=True)


def test_symbols_are_distinguished_from_other_pieces() -> None:
    assert symbols(["a", ">>fra<<", ">>", "<<x>>", ">>por_BR<<"]) == [">>fra<<", ">>por_BR<<"]


@given(st.lists(st.integers(0, SEVERAL.target_vocab_size - 1), max_size=12), st.integers(0, 12))
def test_the_text_of_a_prefix_is_a_prefix_of_the_text(ids: list[int], n: int) -> None:
    assert SEVERAL.decode(ids).startswith(SEVERAL.decode(ids[:n]).rstrip("\ufffd"))
