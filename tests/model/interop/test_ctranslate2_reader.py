"""CTranslate2 folders of every kind: tokens and scores equal those of CTranslate2."""

import inspect
import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from ctranslate2.converters import TransformersConverter
from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import Hypothesis
from model.decoding.rules import HuggingFaceRule
from model.engine.build import build_engines
from model.engine.cpu.kernels.packing import pack_int8
from model.engine.protocol import Job
from model.engine.run import run_jobs
from model.errors import CheckpointError
from model.interop.ctranslate2.binary_format import read_binary
from model.interop.languages import NOT_GIVEN, Languages
from model.interop.marian_folder import project_of
from model.interop.marian_import import import_ctranslate2, import_m2m100
from tests.ctranslate2_folder import (
    ACTIVATIONS,
    D_MODEL,
    FAMILIES,
    HEADS,
    M2M100,
    MARIAN,
    PIECES,
    Family,
    random_spec,
    with_side,
    write_folder,
)
from tests.m2m100_folder import MakeMultilingual
from tests.marian_folder import SOURCE_WORDS, TARGET_WORDS, change_json
from tests.model.interop.comparing import search_options

EN_FR = Languages(["en"], ["fr"])
N_SENTENCES = 60


def imported(folder: Path, languages: Languages = EN_FR) -> Checkpoint:
    destination = folder.with_name(f"{folder.name}-ours")
    import_ctranslate2(folder, destination, languages=languages)
    return load_checkpoint(destination)


def is_multilingual(family: Family) -> bool:
    return "<pad>" in family.special


def texts(seed: int = 1) -> list[str]:
    choose = random.Random(seed)
    words = f"{SOURCE_WORDS} {TARGET_WORDS} THE zebra".split()
    return [" ".join(choose.choices(words, k=choose.randint(1, 12))) for _ in range(N_SENTENCES)]


def their_sources(family: Family, sentences: list[str]) -> list[list[str]]:
    """Return the source tokens of a family as CTranslate2's documentation describes."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(PIECES)
    rows = processor.encode(sentences, out_type=str)
    if is_multilingual(family):
        return [[family.behind[0], *row, "</s>"] for row in rows]
    return [[*row, "</s>"] if family.start_from_zero else row for row in rows]


def their_answers(folder: Path, family: Family, **options: Any) -> list[Any]:
    if is_multilingual(family):
        options["target_prefix"] = [[family.behind[1]]] * N_SENTENCES
        options["suppress_sequences"] = [["<pad>"]]
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    found: list[Any] = translator.translate_batch(
        their_sources(family, texts()), return_scores=True, max_decoding_length=40,
        **options,
    )  # fmt: skip
    return found


def our_answers(ours: Checkpoint, family: Family, **options: Any) -> list[Hypothesis]:
    rule = ours.config.search_rule
    assert isinstance(rule, HuggingFaceRule)
    if is_multilingual(family):
        rule = replace(rule, renormalise=True)
    search = search_options(
        ours, rule=rule, first_id=ours.tokenizer.first_id("fr"),
        max_target_tokens=40 - is_multilingual(family), **options,
    )  # fmt: skip
    rows = [ours.tokenizer.source_ids(text, "fr", "en") for text in texts()]
    jobs = [Job(number, tuple(row), search) for number, row in enumerate(rows)]
    outcomes = dict(run_jobs(build_engines(ours, "fp32"), jobs))
    found = [outcomes[number] for number in range(len(jobs))]
    assert not [one for one in found if isinstance(one, Exception)]
    return [one[0] for one in found if not isinstance(one, Exception)]


def pieces(ours: Checkpoint, found: Hypothesis) -> list[str]:
    return [ours.tokenizer.piece(token) for token in found.ids]


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_and_scores_equal_theirs(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    folder = write_folder(tmp_path / "model", family)
    ours = imported(folder, NOT_GIVEN if is_multilingual(family) else EN_FR)
    for options in ({"beam_size": 1}, {"beam_size": 4, "length_penalty": 0.2}):
        expected = their_answers(folder, family, **options)
        found = our_answers(ours, family, **options)
        apart = 0
        for mine, theirs in zip(found, expected, strict=True):
            if pieces(ours, mine) != theirs.hypotheses[0]:
                apart += 1
            elif options["beam_size"] > 1:
                assert mine.score == pytest.approx(theirs.scores[0], abs=1e-3)
        # A tie, or after a given token, when in CTranslate2 only the best hypothesis may end.
        assert apart <= (options["beam_size"] > 1)
        assert options["beam_size"] > 1 or any(len(one.ids) > 3 for one in found)


@pytest.mark.parametrize("quantization", ["int8", "int16", "float16", "bfloat16", "int8_float16"])
def test_values_are_those_that_they_compute_with(quantization: str, tmp_path: Path) -> None:
    family = FAMILIES["opennmt-py, untied"]
    folder = write_folder(tmp_path / "model", family, quantization)
    ours = imported(folder)
    found = our_answers(ours, family, beam_size=1)
    expected = their_answers(folder, family, beam_size=1)
    equal = sum(
        pieces(ours, mine) == theirs.hypotheses[0]
        for mine, theirs in zip(found, expected, strict=True)
    )
    # Positions in half precision are rounded in the file; attend computes them.
    assert equal >= (0.9 if "16" in quantization and "float" in quantization else 1) * len(found)


def test_eight_bit_codes_are_not_rounded_again(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", FAMILIES["opennmt-py"], "int8")
    ours = imported(folder)
    theirs = read_binary(folder / "model.bin")
    kind, shape, data = theirs.stored["encoder/layer_0/ffn/linear_0/weight"]
    codes = np.frombuffer(data, np.int8).reshape(shape)
    assert kind == "i1"
    assert np.abs(codes).max(axis=1).min() == 127
    matrix = ours.weights["encoder.layers.0.feed_forward.w_1.weight"]
    packed = pack_int8([matrix], [np.zeros(len(matrix), np.float32)])
    from_codes = pack_int8([(codes, 1.0)], [np.zeros(len(matrix), np.float32)])
    assert (packed.weight == from_codes.weight).all()


def test_version_5_has_its_options_in_the_file(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", MARIAN)
    expected = imported(folder)
    path = folder / "model.bin"
    written = bytearray(path.read_bytes())
    written[:4] = struct.pack("<I", 5)
    (folder / "config.json").unlink()
    path.write_bytes(written)
    assert project_of(folder) == "ctranslate2"
    ours = imported(folder.rename(tmp_path / "old"))
    assert ours.config.transformer == expected.config.transformer
    assert ours.config.marian_vocabulary == expected.config.marian_vocabulary


def test_vocabularies_as_lines(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", FAMILIES["opennmt-py"])
    ours = imported(folder)
    path = folder / "shared_vocabulary.json"
    tokens = json.loads(path.read_text("utf-8"))
    path.unlink()
    (folder / "shared_vocabulary.txt").write_text("\r\n".join(tokens) + "\r\n", "utf-8")
    again = imported(folder.rename(tmp_path / "lines"))
    assert again.tokenizer.files == ours.tokenizer.files


def test_the_languages_are_in_the_folders_name(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "quickmt-fra-en", FAMILIES["eole, quickmt"])
    assert imported(folder, NOT_GIVEN).config.directions == [("fr", "en")]
    unnamed = write_folder(tmp_path / "model", FAMILIES["eole, quickmt"])
    with pytest.raises(CheckpointError, match="does not declare its languages; use `attend import"):
        imported(unnamed, NOT_GIVEN)


def test_any_language_to_any_other(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", M2M100)
    ours = imported(folder, NOT_GIVEN)
    assert set(ours.config.directions) == {
        (a, b) for a in ("en", "fr", "de") for b in ("en", "fr", "de") if a != b
    }
    some = imported(folder.rename(tmp_path / "some"), Languages(["en"], ["fr", "de"]))
    assert list(some.config.directions) == [("en", "fr"), ("en", "de")]


def test_nllb_with_the_tokenizer_json_of_transformers(
    make_multilingual: MakeMultilingual, tmp_path: Path
) -> None:
    original = make_multilingual(kind="nllb", slow=False)
    converter = TransformersConverter(str(original), copy_files=["tokenizer.json"])
    converter.convert(str(tmp_path / "nllb"))
    ours = imported(tmp_path / "nllb", NOT_GIVEN)
    import_m2m100(original, tmp_path / "original")
    theirs = load_checkpoint(tmp_path / "original")
    for text in texts():
        expected = theirs.tokenizer.source_ids(text, "fr", "en")
        assert ours.tokenizer.source_ids(text, "fr", "en") == expected


SUPPORTED = {
    "num_layers", "num_heads", "pre_norm", "activation", "alignment_layer", "alignment_heads",
    "with_encoder_attention",
}  # fmt: skip
REFUSED: dict[str, tuple[Any, str]] = {
    "no_final_norm": (True, "no final norm"),
    "num_source_embeddings": (2, "several source features"),
    "layernorm_embedding": (True, "a norm of the embeddings"),
    "project_in_out": (True, "a projection of the embeddings"),
    "relative_position": (True, "relative positions"),
    "relative_attention_bias": (True, "a bias by relative position"),
    "ffn_glu": (True, "gated linear units"),
    "rms_norm": (True, "RMS norms"),
    "alibi": (True, "ALiBi"),
    "multi_query_attention": (True, "multi-query attention"),
    "num_heads_kv": (2, "multi-query attention"),
    "head_dim": (5, "heads of another width"),
    "rotary_dim": (8, "rotary positions"),
    "sliding_window": (9, "a sliding window"),
    "qk_norm": (True, "normalised queries and keys"),
    "v_norm": (True, "RMS norms"),
    "pre_post_layer_norm": (True, "norms before and after each sub-layer"),
    "merged_encoder_attention": (True, "merged attention"),
}
"""Options of either side: a value that attend does not support, and its description."""
DETAILS = {
    "embeddings_merge", "alibi_use_positive_positions", "scale_alibi", "rotary_interleave",
    "rotary_scaling_type", "rotary_scaling_factor", "rotary_base", "max_position_embeddings",
    "original_max_position_embeddings", "quant_type", "quant_bits", "quant_group_size",
    "external_pre_post_encoder_layers", "parallel_residual", "shared_layer_norm",
}  # fmt: skip
"""Options that have no effect alone. AWQ is in config.json; the last two are of language models."""
SIDES = (TransformerEncoderSpec, TransformerDecoderSpec)


def options_of(side: type) -> set[str]:
    return {*inspect.signature(vars(side)["__init__"]).parameters} - {"self"}


def test_every_option_of_their_specification_is_known() -> None:
    assert options_of(SIDES[0]) | options_of(SIDES[1]) == SUPPORTED | {*REFUSED} | DETAILS


@pytest.mark.parametrize(
    ("option", "side"),
    [(one, side) for side in SIDES for one in REFUSED if one in options_of(side)],
)
def test_options_that_attend_lacks_are_named(option: str, side: type, tmp_path: Path) -> None:
    value, called = REFUSED[option]
    spec = random_spec(FAMILIES["opennmt-py"])
    odd = side(2 if side is SIDES[0] else 1, HEADS, **{option: value})
    with_side(spec, odd)
    spec.save(str(tmp_path))
    (tmp_path / "sentencepiece.model").write_bytes(PIECES)
    with pytest.raises(CheckpointError, match=f"attend cannot run this model: .*{called}|{called}"):
        imported(tmp_path)


@pytest.mark.parametrize("name", ["GELUTanh", "Tanh", "Sigmoid"])
def test_activations_that_attend_lacks_are_named(name: str, tmp_path: Path) -> None:
    family = FAMILIES["opennmt-py"]._replace(activation=ACTIVATIONS[name])
    with pytest.raises(CheckpointError, match=r"activation (gelu by tanh|tanh|sigmoid)"):
        imported(write_folder(tmp_path / "model", family))


def set_bytes(first: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:first] + value + data[first + len(value) :]


DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "an empty file"),
    "one byte": (lambda _: b"\6", "ends within the header"),
    "cut": (lambda data: data[:-1000], "ends within"),
    "longer": (lambda data: data + b"x", "1 bytes after the last alias"),
    "version 4": (set_bytes(0, b"\4"), "binary version 4; attend reads 5 and 6: convert"),
    "version 7": (set_bytes(0, b"\7"), "binary version 7"),
    "not CTranslate2's": (lambda _: b"PK\3\4" + b"x" * 1000, "not 5 or 6"),
    "a specification without end": (set_bytes(21, b"x"), "does not end with a zero|ends with"),
    "another specification": (
        set_bytes(6, b"WhisperSpec\0\0\0\0\0"), "is not a text that ends|not a translation model"
    ),
    "revision 9": (set_bytes(22, b"\t"), "revision 9 of TransformerSpec; attend reads 3 to 7"),
    "many variables": (set_bytes(26, b"\xff\xff\xff\xff"), "4,294,967,295 variables"),
    "no variables": (set_bytes(26, b"\0\0\0\0"), "0 variables"),
    "a long name": (set_bytes(30, b"\xff\xff"), "65,535 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    spoil, reason = DAMAGED[name]
    folder = write_folder(tmp_path / "model", FAMILIES["opennmt-py"])
    path = folder / "model.bin"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(CheckpointError, match=reason) as caught:
        imported(folder)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_byte_of_a_file_causes_another_error(tmp_path: Path) -> None:
    """A file with an arbitrary byte in the table is read or refused."""
    folder = write_folder(tmp_path / "model", FAMILIES["opennmt-py"])
    path = folder / "model.bin"
    whole = path.read_bytes()
    choose = random.Random(3)
    messages: list[str] = []
    for number in range(40):
        at = choose.randrange(400) if number % 2 else choose.randrange(len(whole))
        path.write_bytes(set_bytes(at, bytes([choose.randrange(256)]))(whole))
        try:
            import_ctranslate2(folder, tmp_path / f"{number}", languages=EN_FR)
        except CheckpointError as error:
            messages.append(str(error))
    assert messages
    assert not [one for one in messages if "\n" in one]


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no pieces": (
        lambda folder: (folder / "sentencepiece.model").unlink(),
        "copy the SentencePiece models of the original model into it",
    ),
    "several models": (
        lambda folder: (folder / "other.spm").write_bytes(PIECES),
        "Found: other.spm, sentencepiece.model",
    ),
    "no vocabulary": (
        lambda folder: (folder / "shared_vocabulary.json").unlink(),
        "no vocabulary; expected shared_vocabulary.json",
    ),
    "a short vocabulary": (
        lambda folder: (folder / "shared_vocabulary.json").write_text('["<unk>", "</s>", "<s>"]'),
        "the source vocabulary has 3 tokens, the model",
    ),
    "an object": (
        lambda folder: (folder / "shared_vocabulary.json").write_text("{}"), "not a list of tokens",
    ),
    "a token twice": (
        lambda folder: (folder / "shared_vocabulary.json").write_text('["a", "b", "a"]'),
        "'a' has the ids 0 and 2",
    ),
    "no end": (
        lambda folder: change_json(folder / "config.json", eos_token="<end>"),
        "eos_token '<end>' is not in the vocabulary",
    ),
    "no start": (
        lambda folder: change_json(folder / "config.json", decoder_start_token=None),
        "the decoder's start token: the user has to give it",
    ),
    "another start": (
        lambda folder: change_json(folder / "config.json", decoder_start_token="<go>"),
        "'<go>' is not in the vocabulary",
    ),
    "a number": (
        lambda folder: change_json(folder / "config.json", bos_token=3), "bos_token is 3",
    ),
    "awq": (
        lambda folder: change_json(folder / "config.json", quantization_type=1),
        "quantization_type 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_folders_are_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    spoil, reason = BROKEN[name]
    folder = write_folder(tmp_path / "model", FAMILIES["opennmt-py"])
    spoil(folder)
    with pytest.raises(CheckpointError, match=re.escape(reason)):
        imported(folder)


def test_learnt_positions_are_refused(tmp_path: Path) -> None:
    table = np.random.default_rng(1).standard_normal((300, D_MODEL)).astype(np.float32)
    folder = write_folder(tmp_path / "model", FAMILIES["opennmt-py"], positions=table)
    with pytest.raises(CheckpointError, match="learnt positions"):
        imported(folder)
