import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.tensor_file import Quantized
from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import MarianRule
from model.engine.cpu.forward.weights import pack
from model.engine.cpu.kernels.instructions import GROUP, OFFSET, TILE_COLUMNS
from model.errors import CheckpointError
from model.interop.languages import Languages
from model.interop.marian_import import import_firefox
from model.interop.npz.binary_format import read_binary
from model.transformer.transformer import Transformer
from tests.firefox_model import (
    SHAPES,
    items_of,
    options,
    parameters,
    word_vocabulary,
    write_binary,
    write_model,
)
from tests.firefox_static import static_model

N_PIECES = 120
WORDS = word_vocabulary(N_PIECES)
OTHER_WORDS = WORDS.replace("▁w".encode(), "▁v".encode())
UNK_ID = 1
RECORDED = json.loads(Path(__file__).with_name("firefox_recorded.json").read_text())
"""Answers of fxtranslate 0.5.0 to models of `write_model`, and the digests of their files."""


def imported(folder: Path, destination: Path, **how: Any) -> Checkpoint:
    import_firefox(folder, destination, **how)
    return load_checkpoint(destination)


def greedy(checkpoint: Checkpoint, text: str) -> str:
    """Translate by the paper's modules, in float32."""
    model = load_model(checkpoint)
    ids = checkpoint.tokenizer.source_ids(text, "fr")
    found: list[int] = []
    token = checkpoint.config.transformer.start_id
    with torch.no_grad():
        cache = model.start(model.encode(torch.tensor([ids])))
        while len(found) < 2 * len(ids):
            token = int(model.step(torch.tensor([token]), cache).argmax())
            if token == checkpoint.config.transformer.eos_id:
                break
            found.append(token)
    return checkpoint.tokenizer.decode(found)


@pytest.mark.parametrize("case", RECORDED["float32"], ids=lambda case: case["text"][:20])
def test_float32_answers_are_those_of_fxtranslate(case: dict[str, str], tmp_path: Path) -> None:
    write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES), int8=False)
    found = greedy(imported(tmp_path / "m", tmp_path / "c"), case["text"]).split()
    expected = case["translation"].split()
    assert found == expected[: len(found)]
    assert len(expected) - len(found) <= 4  # fxtranslate's limit is higher by this many tokens


def agrees(model: Transformer, checkpoint: Checkpoint, case: dict[str, str]) -> bool:
    """Whether a greedy search gives fxtranslate's tokens; its limit is higher by up to 4.

    It also chooses `<unk>`, which is not in its text.
    """
    source = torch.tensor([checkpoint.tokenizer.source_ids(case["text"], "fr")])
    rule = MarianRule(unk_id=None, max_length_factor=2)
    options = SearchOptions(beam_size=1, rule=rule, shortlist=checkpoint.shortlist)
    [[found]] = beam_search(model, source, options)
    ids = [token for token in found.ids if token != UNK_ID]
    words, expected = checkpoint.tokenizer.decode(ids).split(), case["translation"].split()
    return words == expected[: len(words)] and len(expected) - len(words) <= 4


def test_answers_with_a_shortlist_are_those_of_fxtranslate(tmp_path: Path) -> None:
    write_model(
        tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES), int8=False, with_shortlist=True
    )
    checkpoint = imported(tmp_path / "m", tmp_path / "c")
    model = load_model(checkpoint)
    for case in RECORDED["float32, shortlist"]:
        assert agrees(model, checkpoint, case), case


@pytest.mark.parametrize("with_shortlist", [False, True])
@pytest.mark.parametrize("name", ["static", "static, separate", "static, tiny"])
def test_answers_by_the_files_multipliers_are_those_of_fxtranslate(
    tmp_path: Path, name: str, with_shortlist: bool
) -> None:
    vocabularies = (WORDS, OTHER_WORDS) if name == "static, separate" else (WORDS,)
    path = write_model(
        tmp_path / "m", "tiny" if name == "static, tiny" else "test", vocabularies,
        (N_PIECES, N_PIECES), with_shortlist=with_shortlist,
    )  # fmt: skip
    recorded = RECORDED["sha256"].get(name)
    assert recorded in (None, hashlib.sha256(path.read_bytes()).hexdigest()), "another model"
    checkpoint = imported(tmp_path / "m", tmp_path / "c")
    model = static_model(checkpoint, path)
    for case in RECORDED[f"{name}, shortlist" if with_shortlist else name]:
        assert agrees(model, checkpoint, case), case


@pytest.mark.parametrize("shared", [True, False])
def test_a_checkpoint_keeps_the_8_bit_codes(tmp_path: Path, shared: bool) -> None:
    vocabularies = (WORDS,) if shared else (WORDS, word_vocabulary(90))
    path = write_model(tmp_path / "m", "test", vocabularies, (N_PIECES, 90 if not shared else 120))
    checkpoint = imported(tmp_path / "m", tmp_path / "c")
    items = read_binary(path.read_bytes(), "m").items
    item = items["decoder_l2_rnn_W"]
    assert isinstance(item, Quantized)
    name = "decoder.layers.1.ssru.w.weight"
    codes, scale = checkpoint.quantized[name]
    assert scale == pytest.approx(item.scale)
    assert np.array_equal(codes, item.codes)
    assert np.array_equal(np.rint(checkpoint.weights[name] / scale), item.codes)
    # The kernels' int8 weights are the file's, without a second rounding.
    linear = pack(
        checkpoint.config.transformer, checkpoint.weights, "int8", checkpoint.quantized
    ).output
    n_rows = (120 if shared else 90) + 1
    width = SHAPES["test"]["dim-emb"]
    tiles = linear.weight[0].reshape(-1, width // GROUP, TILE_COLUMNS, GROUP).astype(np.int16)
    rows = (tiles - OFFSET).astype(np.int8).transpose(0, 2, 1, 3).reshape(-1, width)[:n_rows]
    embedding = items["Wemb" if shared else "decoder_Wemb"]
    assert isinstance(embedding, Quantized)
    pad = checkpoint.config.transformer.pad_id
    assert np.array_equal(np.delete(rows, pad, axis=0), embedding.codes)
    assert not rows[pad].any()


def test_the_imported_configuration(tmp_path: Path) -> None:
    write_model(tmp_path / "m", "tiny", (WORDS,), (N_PIECES, N_PIECES))
    checkpoint = imported(tmp_path / "m", tmp_path / "c")
    config, shape = checkpoint.config, checkpoint.config.transformer
    assert list(config.directions) == [("en", "fr")]
    assert (config.beam_size, config.name) == (1, "m")
    assert config.alignment
    assert (config.alignment.layer, config.alignment.head) == (None, 0)
    assert (shape.d_model, shape.d_ff, shape.n_heads) == (256, 1536, 8)
    assert (shape.n_encoder_layers, shape.n_decoder_layers) == (6, 2)
    assert (shape.autoregression, shape.norm_order) == ("ssru", "post")
    assert shape.share_embeddings
    assert shape.tie_output
    # Mozilla's count for 32,000 pieces, which includes 54 multipliers of activations.
    assert checkpoint.n_parameters == 16_907_062 - 54 - (32_000 - 121) * 257


def test_one_embedding_may_have_two_vocabularies(tmp_path: Path) -> None:
    write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES))
    (tmp_path / "m" / "vocab.enfr.spm").rename(tmp_path / "m" / "srcvocab.enfr.spm")
    (tmp_path / "m" / "trgvocab.enfr.spm").write_bytes(WORDS)
    assert imported(tmp_path / "m", tmp_path / "c").config.transformer.share_embeddings


def test_files_may_be_compressed(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES))
    plain = imported(tmp_path / "m", tmp_path / "plain")
    for file in (path, tmp_path / "m" / "vocab.enfr.spm"):
        file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    found = imported(tmp_path / "m", tmp_path / "c", name="plain")
    assert [one.scale for one in found.quantized.values()] == [
        one.scale for one in plain.quantized.values()
    ]


@pytest.mark.parametrize("shared", [True, False])
def test_a_shortlist_is_imported_and_used(tmp_path: Path, shared: bool) -> None:
    sizes = (N_PIECES, N_PIECES if shared else 90)
    vocabularies = (WORDS,) if shared else (WORDS, word_vocabulary(90))
    path = write_model(tmp_path / "m", "test", vocabularies, sizes, with_shortlist=True)
    checkpoint = imported(tmp_path / "m", tmp_path / "c")
    [lex] = path.parent.glob("lex.*.bin")
    assert (tmp_path / "c" / "shortlist.bin").read_bytes() == lex.read_bytes()
    assert checkpoint.config.shortlist is True
    assert checkpoint.shortlist
    assert checkpoint.shortlist.is_shared == shared
    assert checkpoint.shortlist.target_size == sizes[1]
    lex.unlink()
    without = imported(tmp_path / "m", tmp_path / "d", name="m")
    assert without.shortlist is None
    assert without.config.shortlist is None
    assert without.digest != checkpoint.digest


def test_a_damaged_shortlist_is_refused_on_import_and_on_loading(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES), with_shortlist=True)
    imported(tmp_path / "m", tmp_path / "c")
    [lex] = path.parent.glob("lex.*.bin")
    content = lex.read_bytes()
    lex.write_bytes(content[:-12] + bytes(4) + content[-8:])
    with pytest.raises(CheckpointError, match=r"lex.* its checksum is wrong; the model can be"):
        imported(tmp_path / "m", tmp_path / "d")
    lex.with_name("lex.2.bin").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"several shortlists: lex.2.bin, lex.50.50"):
        imported(tmp_path / "m", tmp_path / "e")
    (tmp_path / "c" / "shortlist.bin").write_bytes(content[:100])
    with pytest.raises(CheckpointError, match=r"shortlist.bin: damaged, or not a shortlist"):
        load_checkpoint(tmp_path / "c")
    (tmp_path / "c" / "shortlist.bin").unlink()
    with pytest.raises(CheckpointError, match=r"shortlist.bin"):
        load_checkpoint(tmp_path / "c")


def test_the_languages_are_given_or_named(tmp_path: Path) -> None:
    write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES), pair="enzhhant")
    with pytest.raises(CheckpointError, match="does not tell the languages apart"):
        imported(tmp_path / "m", tmp_path / "a")
    given = imported(tmp_path / "m", tmp_path / "b", languages=Languages(["en"], ["zh-Hant"]))
    assert list(given.config.directions) == [("en", "zh-Hant")]
    (tmp_path / "m" / "metadata.json").write_text(
        '{"sourceLanguage": "en", "targetLanguage": "zh"}'
    )
    assert list(imported(tmp_path / "m", tmp_path / "c").config.directions) == [("en", "zh")]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"dec-cell": "gru"}, "dec-cell = 'gru'"),
        ({"layer-normalization": True}, "layer-normalization = True"),
        ({"transformer-rnn-projection": True}, "transformer-rnn-projection = True"),
        ({"transformer-decoder-autoreg": "average-attention"}, "average-attention"),
        ({"transformer-tied-layers": [1, 1]}, "transformer-tied-layers = [1, 1]"),
        ({"lemma-dim-emb": 5}, "lemma-dim-emb = 5"),
        ({"dim-emb": 64}, "shape"),
        ({"enc-depth": 1}, "unknown items 'encoder_l2"),
        ({"dec-depth": 3}, "missing items 'decoder_l3"),
        ({"transformer-heads": 7}, "transformer-heads = 7"),
    ],
)
def test_other_models_are_refused(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    path = write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES))
    items = items_of(parameters(SHAPES["test"], N_PIECES, N_PIECES, shared=True), int8=True)
    write_binary(path, items, options(SHAPES["test"], shared=True, **changed))
    with pytest.raises(CheckpointError) as error:
        imported(tmp_path / "m", tmp_path / "c")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "text", [b"a: &x [1]\nb: *x\n", b"- 1\n", b"!!python/object:os.system\n", b":\n- {"]
)
def test_options_that_are_not_a_plain_mapping(tmp_path: Path, text: bytes) -> None:
    path = write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES))
    before = yaml_text(path)
    path.write_bytes(path.read_bytes().replace(before, text.ljust(len(before), b"\0")))
    with pytest.raises(CheckpointError):
        imported(tmp_path / "m", tmp_path / "c")


def yaml_text(path: Path) -> bytes:
    return read_binary(path.read_bytes(), "m").options


def test_a_folder_without_a_vocabulary(tmp_path: Path) -> None:
    write_model(tmp_path / "m", "test", (WORDS,), (N_PIECES, N_PIECES))
    (tmp_path / "m" / "vocab.enfr.spm").unlink()
    with pytest.raises(CheckpointError, match=r"expected vocab\.LANGUAGES\.spm"):
        imported(tmp_path / "m", tmp_path / "c")


def test_a_vocabulary_of_another_size(tmp_path: Path) -> None:
    write_model(tmp_path / "m", "test", (word_vocabulary(100),), (N_PIECES, N_PIECES))
    with pytest.raises(CheckpointError, match="shape"):
        imported(tmp_path / "m", tmp_path / "c")
