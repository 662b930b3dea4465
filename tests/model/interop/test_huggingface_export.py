import copy
import json
import random
import shutil
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.checksums import CHECKSUMS_FILE
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.golden import GOLDEN_FILE, GoldenSentence
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.decoding.padding import padded_ids
from model.decoding.rules import HuggingFaceRule
from model.errors import CheckpointError
from model.interop.huggingface_export import MARIAN, PEGASUS, Form, export_huggingface
from model.interop.languages import Languages
from model.interop.marian_import import import_argos, import_marian
from model.text.tokenizer import Tokenizer
from model.transformer.config import TransformerConfig
from model.transformer.transformer import Transformer
from tests.argos_package import write_package
from tests.marian_folder import MakeFolder, load_theirs

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

RULE = HuggingFaceRule(max_target_tokens=30)
FORMS: dict[str, tuple[Form, dict[str, Any]]] = {
    "marian": (MARIAN, {"norm_order": "post"}),
    "pegasus": (PEGASUS, {"norm_order": "pre"}),
    "marian, untied, biased": (
        MARIAN,
        {"norm_order": "post", "tie_output": False, "output_bias": True, "decoder_d_ff": 24},
    ),
    "marian, separate embeddings": (MARIAN, {"norm_order": "post", "share_embeddings": False}),
    "marian, sines first": (MARIAN, {"norm_order": "post", "position_layout": "halves"}),
}


def write_checkpoint(folder: Path, tokenizer: Tokenizer, **shape: Any) -> Path:
    values: dict[str, Any] = {
        "d_model": 32, "d_ff": 48, "n_heads": 4, "n_encoder_layers": 2, "n_decoder_layers": 1,
        "source_vocab_size": tokenizer.vocab_size, "target_vocab_size": tokenizer.vocab_size,
        "max_length": 64, "pad_id": tokenizer.pad_id, "eos_id": tokenizer.eos_id,
        "start_id": tokenizer.pad_id, "dropout": 0.0,
    }  # fmt: skip
    config = CheckpointConfig(
        name="x",
        directions=[("en", "fr"), ("fr", "en")],
        alignment=AlignmentMethod(head=1),
        transformer=TransformerConfig.model_validate(values | shape),
    )
    model = Transformer(config.transformer)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            offset = 1.0 if name.endswith("norm.weight") else 0.0
            parameter.copy_(offset + 0.3 * torch.randn(parameter.shape))
        for embedding in (model.source_embedding, model.target_embedding):
            embedding.weight[tokenizer.pad_id] = 0
    weights = dict(model.named_parameters())
    golden = [GoldenSentence(source="fr", target="en", text="été", translation="…")]
    save_checkpoint(folder, config, weights, tokenizer, "# A card\n\nnaïve", {"step": 7}, golden)
    return folder


@pytest.fixture
def theirs(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """An export for Marian, next to the checkpoint `ours`."""
    export_huggingface(write_checkpoint(tmp_path / "ours", tokenizer), tmp_path / "theirs", MARIAN)
    return tmp_path / "theirs"


def change_tensors(folder: Path, changes: dict[str, torch.Tensor | None]) -> None:
    path = folder / "model.safetensors"
    tensors = {name: t.clone() for name, t in load_file(path).items()} | changes
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(kept, path, metadata={"format": "pt"})
    (folder / CHECKSUMS_FILE).unlink(missing_ok=True)


@pytest.fixture(scope="module", params=FORMS)
def exported(
    request: pytest.FixtureRequest, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Checkpoint, Path]:
    base = tmp_path_factory.mktemp("export")
    form, shape = FORMS[request.param]
    folder = write_checkpoint(base / "ours", tokenizer, **shape)
    export_huggingface(folder, base / "theirs", form)
    return load_checkpoint(folder), base / "theirs"


def sources(checkpoint: Checkpoint, n: int) -> torch.Tensor:
    choose = random.Random(1)
    shape = checkpoint.config.transformer
    rows = [[*choose.choices(range(2, 300), k=choose.randint(1, 9)), 0] for _ in range(n)]
    return padded_ids(rows, shape.pad_id, torch.device("cpu"))


def strip(rows: list[list[int]], eos_id: int) -> list[list[int]]:
    return [[*row[1:], eos_id][: [*row[1:], eos_id].index(eos_id)] for row in rows]


@torch.inference_mode()
def test_transformers_gives_the_same_logits(exported: tuple[Checkpoint, Path]) -> None:
    ours, folder = exported
    # In float64, since dimensions, and so sums over them, are in another order.
    model, theirs = copy.deepcopy(load_model(ours)).double(), load_theirs(folder).double()
    source = sources(ours, 20)
    mask = source != ours.config.transformer.pad_id
    target = torch.randint(2, 300, (20, 8))
    expected = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    assert (model(source, target) - expected).abs().max() <= 1e-11


@torch.inference_mode()
@pytest.mark.parametrize("beam_size", [1, 4])
def test_transformers_gives_our_tokens(exported: tuple[Checkpoint, Path], beam_size: int) -> None:
    ours, folder = exported
    source = sources(ours, 50)
    pad_id = ours.config.transformer.pad_id
    theirs = load_theirs(folder)
    expected = theirs.generate(
        source, attention_mask=source != pad_id, num_beams=beam_size, max_length=31
    )
    options = SearchOptions(beam_size=beam_size, length_penalty=0.6, rule=RULE)
    found = [list(best.ids) for best, *_ in beam_search(load_model(ours), source, options)]
    trimmed = [[token for token in row if token != pad_id] for row in expected[:, 1:].tolist()]
    assert found == strip([[pad_id, *row] for row in trimmed], 0)


def test_their_tokeniser_reads_the_same(exported: tuple[Checkpoint, Path]) -> None:
    ours, folder = exported
    theirs: Any = AutoTokenizer.from_pretrained(folder)
    for text in ("The quick brown fox.", "Où est la gare ?", "😀 ﬃ", "<2fr> >>x<<"):
        ids = [token.id for token in ours.tokenizer.encode_source(text, "fr")]
        assert theirs(">>fr<< " + text).input_ids == ids
        pieces = [token.id for token in ours.tokenizer.tokenize(text)]
        assert theirs.decode(pieces, skip_special_tokens=True) == ours.tokenizer.decode(pieces)


def test_import_of_an_export_is_equal(exported: tuple[Checkpoint, Path], tmp_path: Path) -> None:
    ours, folder = exported
    import_marian(folder, tmp_path / "back")
    names = sorted(path.name for path in ours.folder.iterdir())
    assert GOLDEN_FILE in names
    assert names == sorted(path.name for path in (tmp_path / "back").iterdir())
    for name in names:
        assert (tmp_path / "back" / name).read_bytes() == (ours.folder / name).read_bytes(), name


@pytest.mark.parametrize("half", [True, False])
def test_export_of_an_import_is_equal(make_folder: MakeFolder, tmp_path: Path, half: bool) -> None:
    dtype = torch.float16 if half else torch.float32
    folder = make_folder(separate=True, dtype=dtype, tie_word_embeddings=False)
    import_marian(folder, tmp_path / "ours")
    notes = export_huggingface(tmp_path / "ours", tmp_path / "theirs", MARIAN)
    assert "the sides have 4 and 2 heads" in notes
    assert "<pad> is not the last id" in notes
    first, second = load_theirs(folder).state_dict(), load_theirs(tmp_path / "theirs").state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    for name in ("source.spm", "target.spm", "vocab.json", "target_vocab.json"):
        assert (folder / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    import_marian(tmp_path / "theirs", tmp_path / "again")
    assert load_checkpoint(tmp_path / "again").digest == load_checkpoint(tmp_path / "ours").digest


@pytest.mark.parametrize("name", ["marian", "pegasus"])
def test_ctranslate2_gives_the_same_tokens(name: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    form, shape = FORMS[name]
    folder = write_checkpoint(tmp_path / "ours", tokenizer, **shape)
    assert export_huggingface(folder, tmp_path / "theirs", form) == []
    converter = ctranslate2.converters.TransformersConverter(str(tmp_path / "theirs"))
    converter.convert(str(tmp_path / "converted"))
    translator = ctranslate2.Translator(
        str(tmp_path / "converted"), compute_type="float32", intra_threads=1
    )
    vocabulary = json.loads((tmp_path / "theirs" / "vocab.json").read_text("utf-8"))
    piece_of = {index: piece for piece, index in vocabulary.items()}
    ours = load_checkpoint(folder)
    source = sources(ours, 50)
    pad_id = ours.config.transformer.pad_id
    rows = [[piece_of[i] for i in row if i != pad_id] for row in source.tolist()]
    expected = translator.translate_batch(rows, beam_size=1, max_decoding_length=20)
    options = SearchOptions(beam_size=1, max_target_tokens=20)
    found = [best.ids for best, *_ in beam_search(load_model(ours), source, options)]
    assert [[piece_of[i] for i in ids] for ids in found] == [one.hypotheses[0] for one in expected]


@pytest.mark.parametrize(
    ("form", "shape", "message"),
    [
        (MARIAN, {"norm_order": "pre"}, "norm_order 'pre' (export pegasus can)"),
        (PEGASUS, {"norm_order": "post"}, "norm_order 'post' (export marian can)"),
        (
            PEGASUS,
            {"norm_order": "post", "share_embeddings": False, "tie_output": False},
            "norm_order 'post' (export marian can); share_embeddings false; tie_output false",
        ),
        (MARIAN, {"norm_order": "post", "position_layout": "marian"}, "position_layout 'marian'"),
    ],
)
def test_everything_that_a_format_cannot_express_is_reported(
    tokenizer: Tokenizer, tmp_path: Path, form: Form, shape: dict[str, Any], message: str
) -> None:
    folder = write_checkpoint(tmp_path / "ours", tokenizer, **shape)
    with pytest.raises(CheckpointError) as caught:
        export_huggingface(folder, tmp_path / "theirs", form)
    assert message in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_a_model_whose_sources_have_no_end_is_refused(tmp_path: Path) -> None:
    import_argos(write_package(tmp_path / "en_fr"), tmp_path / "ours")
    with pytest.raises(CheckpointError, match="whose sources do not end with </s> alone"):
        export_huggingface(tmp_path / "ours", tmp_path / "theirs", PEGASUS)
    assert not (tmp_path / "theirs").exists()


def test_a_failed_export_leaves_no_files(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_checkpoint(tmp_path / "ours", tokenizer)
    (folder / "CARD.md").unlink()
    with pytest.raises(OSError, match="CARD"):
        export_huggingface(folder, tmp_path / "theirs", MARIAN)
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_a_full_folder_is_not_written_to(tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "ours", tokenizer)
    with pytest.raises(CheckpointError, match="not overwritten"):
        export_huggingface(folder, folder, MARIAN)


@pytest.mark.parametrize(
    ("shape", "name", "tensor", "message"),
    [
        ({"output_bias": True}, "final_logits_bias", None, r"tensor 'output\.bias' is missing"),
        ({}, "model.encoder.layers.0.fc1.weight", torch.zeros(3), r"has shape \[3\]"),
    ],
)
def test_a_damaged_export_is_reported_in_one_line(
    tokenizer: Tokenizer,
    tmp_path: Path,
    shape: dict[str, Any],
    name: str,
    tensor: Any,
    message: str,
) -> None:
    folder = write_checkpoint(tmp_path / "ours", tokenizer, **shape)
    export_huggingface(folder, tmp_path / "theirs", MARIAN)
    change_tensors(tmp_path / "theirs", {name: tensor})
    with pytest.raises(CheckpointError, match=message):
        import_marian(tmp_path / "theirs", tmp_path / "back")


def test_a_bias_of_zero_is_restored(tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "ours", tokenizer, output_bias=True)
    bias = load_file(folder / "model.safetensors")["output.bias"]
    change_tensors(folder, {"output.bias": torch.zeros_like(bias)})
    export_huggingface(folder, tmp_path / "theirs", MARIAN)
    import_marian(tmp_path / "theirs", tmp_path / "back")
    assert load_checkpoint(tmp_path / "back").digest == load_checkpoint(folder).digest


def test_their_tokeniser_reads_two_vocabularies(make_folder: MakeFolder, tmp_path: Path) -> None:
    import_marian(make_folder(separate=True), tmp_path / "ours")
    export_huggingface(tmp_path / "ours", tmp_path / "theirs", MARIAN)
    ours = load_checkpoint(tmp_path / "ours").tokenizer
    theirs: Any = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    text = "the weather is nice"
    assert theirs(text).input_ids == [token.id for token in ours.encode_source(text, "fr")]
    ids = list(range(3, ours.target_vocab_size))
    assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids)


def test_an_export_knows_its_languages_and_may_be_renamed(theirs: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="exported by attend, so its languages are fixed"):
        import_marian(theirs, tmp_path / "back", languages=Languages(("de",)))
    config = import_marian(theirs, tmp_path / "back", name="mine")
    folder = tmp_path / "ours"
    assert config == load_checkpoint(folder).config.model_copy(update={"name": "mine"})


def test_damaged_golden_sentences_are_reported_in_one_line(theirs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    for damaged in (theirs / "attend" / GOLDEN_FILE, folder / GOLDEN_FILE):
        damaged.write_text("[]")
    with pytest.raises(CheckpointError, match=GOLDEN_FILE):
        import_marian(tmp_path / "theirs", tmp_path / "back")
    with pytest.raises(CheckpointError, match=GOLDEN_FILE):
        export_huggingface(folder, tmp_path / "again", MARIAN)
    assert not (tmp_path / "back").exists()
    assert not (tmp_path / "again").exists()


def test_golden_sentences_are_optional(tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "ours", tokenizer)
    (folder / GOLDEN_FILE).unlink()
    export_huggingface(folder, tmp_path / "theirs", MARIAN)
    import_marian(tmp_path / "theirs", tmp_path / "back")
    assert not (tmp_path / "back" / GOLDEN_FILE).exists()


def test_an_export_without_attends_files_is_any_marian_model(theirs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    shutil.rmtree(theirs / "attend")
    config = import_marian(theirs, tmp_path / "back")
    assert config.directions == [("en", "fr")]
    assert config.transformer.position_layout == "halves"
    ours, back = load_checkpoint(folder), load_checkpoint(tmp_path / "back")
    text = "The quick brown fox."
    ids = [token.id for token in ours.tokenizer.encode_source(text, "fr")]
    assert [token.id for token in back.tokenizer.encode_source(text, "fr")] == ids
    source, target = torch.tensor([ids]), torch.tensor([[369, 5, 9]])
    with torch.inference_mode():
        expected = load_model(ours).double()(source, target)
        assert (load_model(back).double()(source, target) - expected).abs().max() <= 1e-11
