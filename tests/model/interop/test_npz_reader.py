"""Marian's format, compared with `transformers` and CTranslate2."""

import random
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
import yaml
from ctranslate2.converters import MarianConverter

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.decoding.padding import padded_ids
from model.decoding.rules import HuggingFaceRule, MarianRule
from model.errors import CheckpointError
from model.interop.languages import Languages
from model.interop.marian_folder import project_of
from model.interop.marian_import import import_marian
from tests.marian_folder import Damage
from tests.marian_npz import NEWEST, change_npz, marian_positions, npz_of, write_npz_folder

FRENCH = Languages(("en",), ("fr",))
FLOAT = np.float32
FAMILY: dict[str, dict[str, Any]] = {
    "one embedding": {"seed": 2},
    "relu": {"transformer-ffn-activation": "relu", "dec-depth": 3, "enc-depth": 1},
    "gelu": {"transformer-ffn-activation": "gelu", "transformer-decoder-dim-ffn": 40},
    "exact gelu": {"transformer-ffn-activation": "gelu", "version": NEWEST, "seed": 2},
    "separate vocabularies": {"separate": True, "seed": 1},
    "separate, one longer": {"separate": True, "longer_target": True, "seed": 2},
    "separate and untied": {"separate": True, "tie": False, "seed": 6},
    "untied, shared": {"tie": False, "legacy_output": True},
    "no bias": {"bias": False},
    "half precision": {"dtype": np.float16, "seed": 2},
}


def imported(folder: Path, destination: Path) -> Checkpoint:
    import_marian(folder, destination, languages=FRENCH)
    return load_checkpoint(destination)


def batch(checkpoint: Checkpoint, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    choose = random.Random(5)
    shape = checkpoint.config.transformer
    device = torch.device("cpu")
    rows = []
    for size in (shape.source_vocab_size, shape.target_vocab_size):
        words = [i for i in range(size) if i not in (shape.pad_id, shape.eos_id)]
        rows.append([[*choose.choices(words, k=choose.randint(1, 12))] for _ in range(n)])
    source = padded_ids([[*row, shape.eos_id] for row in rows[0]], shape.pad_id, device)
    target = padded_ids([[shape.start_id, *row] for row in rows[1]], shape.pad_id, device)
    return source, target


@pytest.fixture(scope="module", params=FAMILY)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Checkpoint]:
    folder = tmp_path_factory.mktemp("npz")
    theirs = write_npz_folder(folder / "theirs", **FAMILY[request.param])
    return theirs, imported(folder / "theirs", folder / "ours")


def test_logits_equal_those_of_transformers(both: tuple[Any, Checkpoint]) -> None:
    theirs, ours = both
    pad = ours.config.transformer.pad_id
    source, target = batch(ours, 50)
    with torch.inference_mode():
        expected = theirs(
            input_ids=source, attention_mask=source != pad, decoder_input_ids=target
        ).logits
        found = load_model(ours)(source, target)
    real = target != pad
    real[:, 0] = True
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_the_search_equals_that_of_transformers_without_early_stopping(
    both: tuple[Any, Checkpoint],
) -> None:
    theirs, ours = both
    shape = ours.config.transformer
    source, _ = batch(ours, 200)
    expected = theirs.generate(
        source,
        attention_mask=source != shape.pad_id,
        num_beams=ours.config.beam_size,
        length_penalty=ours.config.length_penalty,
        early_stopping="never",
        max_new_tokens=15,
        forced_eos_token_id=None,
        bad_words_ids=[[shape.pad_id]],
        output_scores=True,
        return_dict_in_generate=True,
    )
    rule = HuggingFaceRule(early_stopping="never")
    options = SearchOptions(ours.config.beam_size, 1, ours.config.length_penalty, 15, rule)
    found = [best for best, *_ in beam_search(load_model(ours), source, options)]
    specials = (shape.pad_id, shape.eos_id)
    assert [list(one.ids) for one in found] == [
        [token for token in row if token not in specials] for row in expected.sequences.tolist()
    ]
    scores = torch.tensor([one.score for one in found])
    torch.testing.assert_close(scores, expected.sequences_scores, atol=1e-4, rtol=0)
    assert len({one.ids for one in found}) > 10


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"separate": True},
        {"tie": False, "separate": True},
        {"transformer-ffn-activation": "gelu"},
        {"transformer-ffn-activation": "relu", "dec-depth": 2, "pre_norm": True},
    ],
)
def test_log_probabilities_equal_ctranslate2s(tmp_path: Path, options: dict[str, Any]) -> None:
    folder = tmp_path / "theirs"
    write_npz_folder(folder, **options)
    ours = imported(folder, tmp_path / "ours")
    # CTranslate2 uses the paper's wavelengths by default; the model was trained with Marian's.
    change_npz(folder, Wpos=marian_positions(64, 32).numpy())
    vocabularies = sorted(map(str, folder.glob("*.vocab.yml")))
    MarianConverter(str(npz_of(folder)), vocabularies).convert(str(tmp_path / "ct2"))
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), compute_type="float32")
    source, target = batch(ours, 200)
    assert_same_scores(ours, translator, source[:20], target[:20])
    assert_same_greedy(ours, translator, source)


def assert_same_scores(
    ours: Checkpoint, translator: Any, source: torch.Tensor, target: torch.Tensor
) -> None:
    pad, eos = ours.config.transformer.pad_id, ours.config.transformer.eos_id
    tokenizer: Any = ours.tokenizer
    sources = [
        [tokenizer.source_pieces[i] for i in r if i not in (pad, eos)] for r in source.tolist()
    ]
    targets = [[tokenizer.target_pieces[i] for i in r if i != pad] for r in target.tolist()]
    scored = translator.score_batch(sources, targets)
    with torch.inference_mode():
        log_probs = load_model(ours)(source, target).log_softmax(-1)
    for row, (ids, expected) in enumerate(zip(target.tolist(), scored, strict=True)):
        produced = [*(i for i in ids if i != pad), eos]
        found = [log_probs[row, t, token].item() for t, token in enumerate(produced)]
        # The ε of its LayerNorm is 1e-5, Marian's 1e-6.
        assert found == pytest.approx(expected.log_probs, abs=5e-4)


def assert_same_greedy(ours: Checkpoint, translator: Any, source: torch.Tensor) -> None:
    tokenizer: Any = ours.tokenizer
    ends = (ours.config.transformer.pad_id, ours.config.transformer.eos_id)
    rows = [[tokenizer.source_pieces[i] for i in r if i not in ends] for r in source.tolist()]
    expected = translator.translate_batch(
        rows, beam_size=1, min_decoding_length=0, max_decoding_length=20
    )
    options = SearchOptions(beam_size=1, max_target_tokens=20)
    found = [best.ids for best, *_ in beam_search(load_model(ours), source, options)]
    assert [[tokenizer.piece(i) for i in ids] for ids in found] == [
        one.hypotheses[0] for one in expected
    ]


def test_it_translates_with_the_search_of_decoder_yml(tmp_path: Path) -> None:
    write_npz_folder(tmp_path / "theirs")
    assert project_of(tmp_path / "theirs") == "marian"
    ours = imported(tmp_path / "theirs", tmp_path / "ours")
    assert ours.config.directions == [("en", "fr")]
    assert (ours.config.beam_size, ours.config.length_penalty) == (6, 1.0)
    tokens = ours.tokenizer.encode_source("the weather", "fr")
    assert tokens[-1].piece == "</s>"
    assert all(token.piece != "<unk>" for token in tokens)


def test_padding_is_excluded_from_the_softmax_as_in_marian(tmp_path: Path) -> None:
    write_npz_folder(tmp_path / "theirs")
    ours = imported(tmp_path / "theirs", tmp_path / "ours")
    source, target = batch(ours, 3)
    with torch.inference_mode():
        probabilities = load_model(ours)(source, target).softmax(-1)
    assert not probabilities[..., ours.config.transformer.pad_id].any()


def test_the_languages_are_required(tmp_path: Path) -> None:
    write_npz_folder(tmp_path / "theirs")
    with pytest.raises(CheckpointError, match="use `attend import marian --source`"):
        import_marian(tmp_path / "theirs", tmp_path / "ours")
    with pytest.raises(CheckpointError, match="use `attend import marian --target`"):
        import_marian(tmp_path / "theirs", tmp_path / "ours", languages=Languages(("en",)))


def test_a_longer_vocabulary_is_cut_to_what_has_embeddings(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    write_npz_folder(folder)
    whole = imported(folder, tmp_path / "whole").config.transformer.source_vocab_size
    with (folder / "opus.vocab.yml").open("a", encoding="utf-8") as file:
        file.write(f"more: {whole - 1}\n")
    assert imported(folder, tmp_path / "cut").config.transformer.source_vocab_size == whole


def test_the_search_equals_marians(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    write_npz_folder(folder, separate=True)
    ours = imported(folder, tmp_path / "ours")
    assert ours.config.search_rule == MarianRule(unk_id=1, max_length_factor=3)
    assert ours.config.transformer.norm_epsilon == 1e-6
    options = yaml.safe_load((folder / "decoder.yml").read_text())
    changed = options | {"allow-unk": True, "max-length-factor": 1.5}
    (folder / "decoder.yml").write_text(yaml.safe_dump(changed))
    assert imported(folder, tmp_path / "other").config.search_rule == MarianRule(None, 1.5)


def two_models(folder: Path) -> None:
    (folder / "decoder.yml").unlink()
    for name in ("a.npz", "b.npz"):
        np.savez(folder / name, x=np.zeros(1))


def with_tensors(**changes: Any) -> Damage:
    return lambda folder: change_npz(folder, **changes)


def with_options(content: bytes) -> Damage:
    return with_tensors(**{"special:model.yml": np.frombuffer(content, np.int8)})


DAMAGES: dict[str, tuple[Damage, str]] = {
    "cut": (
        lambda f: npz_of(f).write_bytes(npz_of(f).read_bytes()[:-30]),
        "damaged or not an npz file",
    ),
    "garbled": (
        lambda f: npz_of(f).write_bytes(npz_of(f).read_bytes().replace(b"\x93NUMPY", b"\x93NUMPX")),
        "damaged or not an npz file",
    ),
    "empty": (lambda f: npz_of(f).write_bytes(b""), "damaged or not an npz file"),
    "pickled": (
        lambda f: np.savez(npz_of(f), Wemb=np.array([{}], dtype=object), allow_pickle=True),
        "Object arrays cannot be loaded",
    ),
    "no options": (with_tensors(**{"special:model.yml": None}), "has no special:model.yml"),
    "options that are no YAML": (with_options(b"{a: ["), "not YAML"),
    "options of Python objects": (with_options(b"!!python/object/apply:os.abort []"), "not YAML"),
    "options that are a list": (with_options(b"[1]"), "not a YAML mapping"),
    "no matrix": (with_tensors(encoder_l1_self_Wq=None), "missing tensors 'encoder_l1_self_Wq'"),
    "trained positions": (with_tensors(Wpos=np.zeros((9, 32), FLOAT)), "unknown tensors 'Wpos'"),
    "another depth": (with_tensors(options={"enc-depth": 1}), "unknown tensors 'encoder_l2"),
    "another shape": (
        with_tensors(encoder_l1_ffn_W1=np.zeros((7, 32), FLOAT)),
        "has shape [32, 7]",
    ),
    "whole numbers": (
        with_tensors(encoder_l1_ffn_W1=np.zeros((32, 48), np.int8)),
        "'encoder_l1_ffn_W1' is int8 of shape [32, 48], not a matrix",
    ),
    "a vector": (with_tensors(encoder_l1_ffn_W1=np.zeros(32, FLOAT)), "not a matrix"),
    "NaN": (with_tensors(decoder_ff_logit_out_b=np.full((1, 9), np.nan, FLOAT)), "output.bias"),
    "more embeddings": (with_tensors(Wemb=np.zeros((500, 32), FLOAT)), "'Wemb' 500 rows"),
    "no embedding": (with_tensors(Wemb=None), "'Wemb' 0 rows"),
    "untied without an output": (
        with_tensors(options={"tied-embeddings-all": False, "tied-embeddings-src": True}),
        "missing tensors 'decoder_ff_logit_out_Wt'",
    ),
    "two models": (two_models, "the model is ambiguous. Found: a.npz, b.npz, opus.transformer"),
    "no source.spm": (
        lambda f: (f / "source.spm").rename(f / "x.spm"),
        "the SentencePiece model is ambiguous",
    ),
    "no end of sentence": (
        lambda f: (f / "opus.vocab.yml").write_text(
            (f / "opus.vocab.yml").read_text("utf-8").replace("</s>", "<s>"), encoding="utf-8"
        ),
        "has no </s> piece",
    ),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_wrong_folder_is_refused_in_one_line_and_nothing_is_written(
    tmp_path: Path, how: str
) -> None:
    damage, message = DAMAGES[how]
    folder = tmp_path / "theirs"
    write_npz_folder(folder)
    damage(folder)
    with pytest.raises(CheckpointError) as caught:
        imported(folder, tmp_path / "ours")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
