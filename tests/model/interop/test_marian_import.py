import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.rules import HuggingFaceRule
from model.errors import CheckpointError, ModelError
from model.interop.languages import Languages
from model.interop.marian_import import import_marian
from model.transformer.positions import sinusoidal_positions
from tests.marian_folder import Damage, MakeFolder, change_json, changing, load_theirs, write_json
from tests.model.interop import comparing

Pair = tuple[Any, Checkpoint]
FAMILY: dict[str, dict[str, Any]] = {
    "shared": {},
    "untied": {"tie_word_embeddings": False},
    "separate": {"separate": True},
    "separate and untied": {"separate": True, "tie_word_embeddings": False},
    "unscaled, without bias": {"scale_embedding": False, "bias": False},
    "relu": {"activation_function": "relu", "generation": {"renormalize_logits": True}},
    "gelu": {"activation_function": "gelu", "generation": {"early_stopping": True}},
    "quick_gelu": {"activation_function": "quick_gelu", "encoder_layers": 3, "seed": 1},
    "silu, several targets": {"activation_function": "silu", "multi": True, "seed": 3},
    "half precision": {"dtype": torch.float16, "generation": {"forced_eos_token_id": None}},
    "pickled": {"pickled": True, "generation": {"early_stopping": "never", "length_penalty": 0.6}},
    "pickled in half precision": {"pickled": True, "dtype": torch.float16},
    "in shards": {"shard": "20KB", "dtype": torch.bfloat16},
    "search in config.json": {"legacy": True, "generation": {"max_length": 12}},
    "deep decoder": {"encoder_layers": 1, "decoder_layers": 3, "generation": {"max_length": 9}},
    "cut without an end": {"generation": {"max_length": 6, "forced_eos_token_id": None}},
}
N_SENTENCES = 200


@pytest.fixture(scope="module", params=FAMILY)
def pair(
    request: pytest.FixtureRequest,
    make_folder: MakeFolder,
    tmp_path_factory: pytest.TempPathFactory,
) -> Pair:
    folder = make_folder(**FAMILY[request.param])
    destination = tmp_path_factory.mktemp("imported") / "ours"
    import_marian(folder, destination)
    theirs = load_theirs(folder)
    return theirs, load_checkpoint(destination)


def sentences(checkpoint: Checkpoint, seed: int = 3) -> list[list[int]]:
    choose = random.Random(seed)
    shape = checkpoint.config.transformer
    words = [i for i in range(shape.source_vocab_size) if i not in (shape.pad_id, shape.eos_id)]
    return [
        [*choose.choices(words, k=choose.randint(1, 12)), shape.eos_id] for _ in range(N_SENTENCES)
    ]


def test_logits_equal_theirs(pair: Pair) -> None:
    theirs, ours = pair
    comparing.check_logits(theirs, ours, sentences(ours)[:40], first_word=0)


def test_beam_search_gives_the_same_tokens_and_scores(pair: Pair) -> None:
    theirs, ours = pair
    source = comparing.padded(ours, sentences(ours))
    found, expected = comparing.found_by_us(ours, source), comparing.generated(theirs, ours, source)
    assert ours.config.beam_size == 4
    comparing.check_tokens(found, expected, ours)
    comparing.check_scores(found, expected)
    assert len({one.ids for one in found}) > 10


def test_greedy_search_gives_the_same_tokens_and_scores(pair: Pair) -> None:
    theirs, ours = pair
    shape = ours.config.transformer
    rule = ours.config.search_rule
    assert isinstance(rule, HuggingFaceRule)
    source = comparing.padded(ours, sentences(ours, seed=4))
    greedy = {"num_beams": 1, "early_stopping": False, "length_penalty": 1.0}
    reference = comparing.generated(theirs, ours, source, **greedy, output_logits=True)
    found = comparing.found_by_us(ours, source, beam_size=1)
    comparing.check_tokens(found, reference, ours)
    # Their greedy search returns no score; compare log-probabilities of the tokens.
    logits = torch.stack(reference.logits, dim=1)
    if rule.renormalise:
        logits[:, :, shape.pad_id] = -torch.inf
    log_probs = logits.log_softmax(dim=-1)
    for row, one in enumerate(found):
        end = [] if one.capped else [shape.eos_id]
        chosen = [*one.ids, *end]
        expected = log_probs[row, range(len(chosen)), chosen]
        assert (torch.tensor(one.log_probs) - expected).abs().max() <= 1e-4


def test_all_n_best_hypotheses_are_theirs(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(separate=True)
    import_marian(folder, tmp_path / "ours")
    theirs, ours = load_theirs(folder), load_checkpoint(tmp_path / "ours")
    source = comparing.padded(ours, sentences(ours))
    expected = comparing.generated(theirs, ours, source, num_return_sequences=4)
    found = comparing.found_by_us(ours, source, n_best=4)
    comparing.check_tokens(found, expected, ours)
    comparing.check_scores(found, expected)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("separate", [True, False])
def test_the_tokeniser_equals_theirs(
    make_folder: MakeFolder, tmp_path: Path, separate: bool
) -> None:
    folder = make_folder(separate=separate)
    import_marian(folder, tmp_path / "ours")
    ours = load_checkpoint(tmp_path / "ours").tokenizer
    theirs: Any = AutoTokenizer.from_pretrained(folder)
    for text in ("the weather is nice", "  The  cat ☃ ", "ﬁne œuf", "", "a"):
        assert [token.id for token in ours.encode_source(text, "fr")] == theirs(text).input_ids
    choose = random.Random(2)
    for _ in range(50):
        ids = choose.choices(range(ours.target_vocab_size), k=7)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_several_targets_are_the_symbols(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(multi=True)
    config = import_marian(folder, tmp_path / "all")
    assert config.directions == [("en", "fra"), ("en", "pt-BR"), ("en", "fr")]
    tokenizer = load_checkpoint(tmp_path / "all").tokenizer
    assert tokenizer.encode_source("the", "pt-BR")[0].piece == ">>por_BR<<"
    some = import_marian(folder, tmp_path / "some", "x", Languages(("en", "de"), ("pt-BR",)))
    assert (some.name, some.directions) == ("x", [("en", "pt-BR"), ("de", "pt-BR")])
    with pytest.raises(CheckpointError, match="no symbol for 'it'; there are: fra, pt-BR, fr"):
        import_marian(folder, tmp_path / "none", languages=Languages(targets=("it",)))


CARD = """---
language:
- da
- en
- gmq
- nb
- no
- sv
license: cc-by-4.0
---
# opus-mt-tc-big-gmq-en
"""


@pytest.mark.parametrize(
    ("source", "card", "sources"),
    [
        ("eng", CARD, ["en"]),
        ("cat_oci_spa", None, ["ca", "oc", "es"]),
        ("por_BR", None, ["pt-BR"]),
        ("gmq", CARD, ["da", "en", "nb", "no", "sv"]),
        ("gmq", None, ["gmq"]),
        ("gmq", "no head", ["gmq"]),
        ("gmq", "---\n- [\n---\n", ["gmq"]),
        ("gmq", "---\nlanguage: sv\n---\n", ["sv"]),
        ("gmq", "---\nlicense: mit\n---\n", ["gmq"]),
    ],
)
def test_a_group_of_source_languages_is_that_of_the_card(
    make_folder: MakeFolder, tmp_path: Path, source: str, card: str | None, sources: list[str]
) -> None:
    folder = shutil.copytree(make_folder(), tmp_path / "theirs")
    change_json(folder / "tokenizer_config.json", source_lang=source)
    if card is not None:
        (folder / "README.md").write_text(card, "utf-8")
    config = import_marian(folder, tmp_path / "ours")
    assert config.directions == [(code, "fr") for code in sources]


def test_a_published_folder_with_all_its_files(make_folder: MakeFolder, tmp_path: Path) -> None:
    """A model like opus-mt-tc-big-en-cat_oci_spa, written by a recent `transformers`."""
    folder = make_folder(
        multi=True, shard="20KB", dtype=torch.bfloat16, activation_function="relu",
        generation={"num_beams": 6, "max_length": 512, "forced_eos_token_id": 0},
    )  # fmt: skip
    folder = shutil.copytree(folder, tmp_path / "opus-mt-tc-big-en-cat_oci_spa")
    change_json(folder / "generation_config.json", _from_model_config=True, bos_token_id=0)
    change_json(
        folder / "config.json", classifier_dropout=0.0, num_hidden_layers=2, vocab_hash=None,
        add_bias_logits=False, normalize_embedding=False, static_position_embeddings=True,
    )  # fmt: skip
    change_json(
        folder / "tokenizer_config.json", target_lang="cat_oci_spa", sp_model_kwargs={},
        model_max_length=512, special_tokens_map_file=None, name_or_path="marian-models/x",
    )  # fmt: skip
    write_json(folder / "special_tokens_map.json", {"eos_token": "</s>", "unk_token": "<unk>"})
    (folder / "README.md").write_text(CARD, "utf-8")
    (folder / "benchmark_results.txt").write_text("BLEU", "utf-8")
    (folder / "flores101.zip").write_bytes(b"PK")
    (folder / "tf_model.h5").write_bytes(b"\x89HDF")
    assert (folder / "model.safetensors.index.json").exists()
    config = import_marian(folder, tmp_path / "ours")
    assert config.directions == [("en", "fra"), ("en", "pt-BR"), ("en", "fr")]
    assert (config.name, config.beam_size) == (folder.name, 6)
    loaded = load_checkpoint(tmp_path / "ours")
    weights = {one.dtype.name for one in map(loaded.weights.__getitem__, loaded.weights)}
    assert weights == {"float32"}


def test_the_languages_may_be_given(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(
        CheckpointError, match="does not declare its languages; use `attend import marian --source`"
    ):
        import_marian(folder, tmp_path / "ours")
    given = Languages(("es", "it"), ("en",))
    config = import_marian(folder, tmp_path / "ours", languages=given)
    assert config.directions == [("es", "en"), ("it", "en")]
    with pytest.raises(CheckpointError, match="from en to itself is no translation"):
        import_marian(folder, tmp_path / "none", languages=Languages(("en",), ("en",)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def change_tensors(folder: Path, **changes: torch.Tensor | None) -> None:
    path = folder / "model.safetensors"
    tensors = {name: t.clone() for name, t in load_file(path).items()} | changes
    save_file({name: t for name, t in tensors.items() if t is not None}, path)


FC1 = "model.encoder.layers.0.fc1.weight"
DAMAGES: dict[str, tuple[Damage, str]] = {
    "no config": (
        lambda f: (f / "config.json").unlink(),
        "no config.json and no model of another project",
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "neither model.safetensors"),
    "no source.spm": (lambda f: (f / "source.spm").unlink(), "source.spm: No such file"),
    "no target.spm": (lambda f: (f / "target.spm").unlink(), "target.spm: No such file"),
    "no vocab": (lambda f: (f / "vocab.json").unlink(), "vocab.json: No such file"),
    "short weights": (lambda f: cut(f / "model.safetensors"), "damaged or not a safetensors"),
    "short config": (lambda f: cut(f / "config.json"), "config.json: not JSON"),
    "short vocabulary": (lambda f: cut(f / "vocab.json"), "vocab.json: not JSON"),
    "another vocabulary": (
        lambda f: write_json(f / "vocab.json", {"</s>": 0, "<unk>": 1, "<pad>": 2}),
        "the vocabulary has 3 pieces",
    ),
    "another architecture": (changing("config.json", model_type="m2m_100"), "model_type 'm2m_100'"),
    "another depth": (
        changing("config.json", encoder_layers=3),
        "missing tensors 'model.encoder.layers.2.self_attn.q_proj.weight'",
    ),
    "fewer layers": (
        changing("config.json", encoder_layers=1),
        "unknown tensors 'model.encoder.layers.1.fc1.bias'",
    ),
    "another width": (
        changing("config.json", encoder_ffn_dim=7),
        "has shape [48, 32], config.json requires [7, 32]",
    ),
    "impossible dropout": (
        changing("config.json", dropout=1.5),
        "config.json: 'dropout': input should be less than 1",
    ),
    "NaN": (
        lambda f: change_tensors(f, **{FC1: torch.full((48, 32), torch.nan)}),
        "holds NaN or infinity",
    ),
    "no positions": (
        lambda f: change_tensors(f, **{"model.encoder.embed_positions.weight": torch.tensor(1.0)}),
        "does not contain sinusoids",
    ),
    "learnt positions": (
        lambda f: change_tensors(f, **{"model.encoder.embed_positions.weight": torch.ones(64, 32)}),
        "does not contain sinusoids",
    ),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_wrong_folder_writes_nothing(make_folder: MakeFolder, tmp_path: Path, how: str) -> None:
    damage, message = DAMAGES[how]
    folder = make_folder()
    damage(folder)
    with pytest.raises(ModelError) as caught:
        import_marian(folder, tmp_path / "ours")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such folder; expected a Marian model"):
        import_marian(tmp_path / "x", tmp_path / "ours")
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="file: a file; give the folder of the model"):
        import_marian(tmp_path / "file", tmp_path / "ours")


def test_existing_files_are_not_overwritten(make_folder: MakeFolder, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(CheckpointError, match="not overwritten"):
        import_marian(make_folder(), tmp_path)


@pytest.mark.parametrize("pickled", [True, False])
def test_sinusoids_are_left_out(make_folder: MakeFolder, tmp_path: Path, pickled: bool) -> None:
    folder = make_folder(pickled=pickled)
    if not pickled:
        table = torch.from_numpy(
            sinusoidal_positions(64, 32, "halves")
        ).half()  # rounded, but the same
        change_tensors(folder, **{"model.encoder.embed_positions.weight": table})
    import_marian(folder, tmp_path / "ours")
    assert not [
        name for name in load_file(tmp_path / "ours" / "model.safetensors") if "pos" in name
    ]


def test_other_files_and_unknown_keys_are_ignored(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    for name in ("README.md", "tf_model.h5", "rust_model.ot", "tokenizer.json", ".gitattributes"):
        (folder / name).write_bytes(b"\xff")
    (folder / "benchmark_results").mkdir()
    change_json(folder / "config.json", **{"gradient_checkpointing": False, "id2label": {"0": "x"}})
    change_json(folder / "generation_config.json", _from_model_config=True, mine=[1])
    import_marian(folder, tmp_path / "ours")


def test_half_precision_stays_half_on_disk(make_folder: MakeFolder, tmp_path: Path) -> None:
    import_marian(make_folder(dtype=torch.float16), tmp_path / "ours")
    weights = load_file(tmp_path / "ours" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}


def test_tensors_of_a_wrapped_module_are_those_within(
    make_folder: MakeFolder, tmp_path: Path
) -> None:
    folder = make_folder()
    import_marian(folder, tmp_path / "plain")
    path = folder / "model.safetensors"
    wrapped = {f"module.{name}": tensor for name, tensor in load_file(path).items()}
    save_file(wrapped, path, {"format": "pt"})
    import_marian(folder, tmp_path / "wrapped")
    first, second = (
        (tmp_path / kind / "model.safetensors").read_bytes() for kind in ("plain", "wrapped")
    )
    assert first == second
