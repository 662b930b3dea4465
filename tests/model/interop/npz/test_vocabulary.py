import json
from pathlib import Path

import pytest

from model.errors import CheckpointError
from model.interop.npz.vocabulary import read_vocabularies, vocabulary_files
from tests.cases import cases
from tests.marian_folder import SOURCE_WORDS, learn_pieces, pieces_of

PIECES = ["</s>", "<unk>", "yes", "1.50", "~", '"', "\\", ": ", "#", "é", "▁"]
AS_YAML = """</s>: 0
<unk>: 1
yes: 2
1.50: 3
~: 4
"\\"": 5
\\: 6
": ": 7
"#": 8
"\\xe9": 9
▁: 10
"""


def test_pieces_that_look_like_other_yaml_types_are_strings(tmp_path: Path) -> None:
    (tmp_path / "vocab.yml").write_text(AS_YAML, encoding="utf-8")
    assert read_vocabularies(tmp_path, ()) == (PIECES, PIECES)
    (tmp_path / "vocab.yml").rename(tmp_path / "here.yml")  # any name, if it is configured
    assert read_vocabularies(tmp_path, ("here.yml", "here.yml")) == (PIECES, PIECES)


def test_json_is_read_as_well(tmp_path: Path) -> None:
    ids = {piece: index for index, piece in enumerate(PIECES)}
    (tmp_path / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    assert read_vocabularies(tmp_path, ()) == (PIECES, PIECES)


def test_two_sides_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "opus.src.vocab.yml").write_text("</s>: 0\na: 1\n", encoding="utf-8")
    (tmp_path / "opus.trg.vocab.yml").write_text("</s>: 0\nb: 1\n", encoding="utf-8")
    assert read_vocabularies(tmp_path, ()) == (["</s>", "a"], ["</s>", "b"])


def test_a_sentencepiece_model_may_be_the_vocabulary(tmp_path: Path) -> None:
    serialized = learn_pieces(SOURCE_WORDS, 60)
    (tmp_path / "vocab.spm").write_bytes(serialized)
    pieces, _ = read_vocabularies(tmp_path, ("vocab.spm", "vocab.spm"))
    assert set(pieces) == {"<unk>", "<s>", "</s>", *pieces_of(serialized)}
    files = vocabulary_files([serialized, serialized], [pieces, pieces])
    assert files["source.spm"] == files["target.spm"] == serialized
    assert json.loads(files["vocab.json"])["<pad>"] == len(pieces)


def test_pad_has_one_id_on_both_sides() -> None:
    files = vocabulary_files([b"x", b"x"], [["a", "b"], ["c", "d", "e"]])
    assert json.loads(files["vocab.json"]) == {"a": 0, "b": 1, "<pad>": 2}
    assert json.loads(files["target_vocab.json"]) == {"c": 0, "d": 1, "<pad>": 2, "e": 3}
    assert "target_vocab.json" not in vocabulary_files([b"x", b"x"], [["a"], ["a"]])


@pytest.mark.parametrize(("text", "message"), cases(__file__, "invalid_vocabularies"))
def test_invalid_vocabularies(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "vocab.yml").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        read_vocabularies(tmp_path, ())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_utf_8_and_no_sentencepiece_model(tmp_path: Path) -> None:
    (tmp_path / "vocab.yml").write_bytes(b"\xff\xfe\xff: 0")
    with pytest.raises(CheckpointError, match="not a vocabulary"):
        read_vocabularies(tmp_path, ())
    (tmp_path / "vocab.spm").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="not a SentencePiece model"):
        read_vocabularies(tmp_path, ("vocab.spm", "vocab.spm"))


def test_an_ambiguous_vocabulary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"Found: none; expected one vocab\.yml"):
        read_vocabularies(tmp_path, ("gone.yml", "gone.yml"))
    for name in ("a.vocab.yml", "b.vocab.yml"):
        (tmp_path / name).touch()
    with pytest.raises(CheckpointError, match=r"Found: a\.vocab\.yml, b\.vocab\.yml; expected"):
        read_vocabularies(tmp_path, ())
