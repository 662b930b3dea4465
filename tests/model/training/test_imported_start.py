"""Runs that start from imported Marian models, tiny and random."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.padding import padded_ids
from model.errors import TrainingError
from model.interop.languages import Languages
from model.interop.marian_import import import_marian
from model.text.marian_tokenizer import MarianTokenizer
from model.training.finish import write_checkpoint
from model.training.warm_start import WarmStart
from tests.marian_folder import SOURCE_WORDS, TARGET_WORDS, MakeFolder
from tests.model.training.toy import Recorder, Workshop, write_pairs

SHAPE: dict[str, Any] = {
    "d_model": 32, "d_ff": 48, "decoder_d_ff": 40, "n_heads": 4, "decoder_n_heads": 2,
    "n_encoder_layers": 2, "n_decoder_layers": 1, "max_length": 64, "activation": "swish",
    "position_layout": "halves", "output_bias": True, "dropout": 0.0,
}  # fmt: skip
PAIRS = [
    (f"the {noun} {verb} the house", f"le {nom} {verbe} la maison")
    for noun, nom in (("dog", "chien"), ("cat", "chat"), ("weather", "temps"))
    for verb, verbe in (("sees", "voit"), ("likes", "aime"), ("is with", "est avec"))
]
FAMILIES: dict[str, dict[str, Any]] = {
    "shared": {},
    "separate vocabularies": {"separate": True},
    "several targets": {"multi": True},
    "untied": {"tie_word_embeddings": False},
}
CHANGES: dict[str, dict[str, Any]] = {
    "separate vocabularies": {"share_embeddings": False},
    "untied": {"tie_output": False, "share_embeddings": False},
}


@pytest.fixture
def words(tmp_path: Path) -> Workshop:
    write_pairs(tmp_path / "train.tsv", PAIRS * 10)
    return Workshop(tmp_path)


def imported(make_folder: MakeFolder, folder: Path, **options: Any) -> Checkpoint:
    languages = Languages(targets=["fr"]) if options.get("multi") else Languages()
    import_marian(make_folder(**options), folder, languages=languages)
    return load_checkpoint(folder)


def recipe(**changes: Any) -> dict[str, Any]:
    return {
        "model": SHAPE,
        "corpora": [{"name": "words", "files": ["train.tsv"], "languages": ["en", "fr"]}],
        "directions": [["en", "fr"]],
        "tokenizer": {"vocab_size": 0},
        "validation": {"languages": ["en", "fr"], "files": {"dev": "train.tsv"}, "bleu_pairs": 0},
        "label_smoothing": 0.0,
    } | changes


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_at_the_start_is_the_models_own_cross_entropy(
    words: Workshop, make_folder: MakeFolder, family: str
) -> None:
    origin = imported(make_folder, words.folder / "imported", **FAMILIES[family])
    shape = SHAPE | CHANGES.get(family, {})
    recorder = Recorder()
    trainer = words.open(
        init=WarmStart(origin),
        reporter=recorder,
        **recipe(model=shape),
        batch_tokens=5000,
        chunk_pairs=90,
    )
    codec = origin.tokenizer
    model = load_model(origin)
    target_ids = [[token.id for token in codec.encode_target(french)] for _, french in PAIRS]
    source = padded_ids(
        [codec.source_ids(english, "fr") for english, _ in PAIRS], codec.pad_id, model.device
    )
    target = padded_ids(target_ids, codec.pad_id, model.device)
    start = torch.full((len(PAIRS), 1), model.config.start_id)
    with torch.no_grad():
        logits = model(source, torch.cat((start, target[:, :-1]), dim=1))
    expected = functional.cross_entropy(
        logits.transpose(1, 2), target, ignore_index=codec.pad_id
    ).item()
    assert trainer.validate()["dev.fr.cross_entropy"] == pytest.approx(expected, rel=1e-5)
    trainer.train()
    assert recorder.steps[0]["cross_entropy"] == pytest.approx(expected, rel=1e-4)
    assert recorder.steps[-1]["cross_entropy"] < 0.9 * expected


def test_a_finished_run_is_a_marian_model_again(words: Workshop, make_folder: MakeFolder) -> None:
    origin = imported(make_folder, words.folder / "imported")
    words.open(init=WarmStart(origin), **recipe(schedule={"steps": 2})).train()
    trainer = words.open(resume=True, **recipe(schedule={"steps": 3}), average_last=1)
    assert isinstance(trainer.tokenizer, MarianTokenizer)
    trainer.train()
    write_checkpoint(trainer.run, trainer.config, "tuned", words.folder / "tuned")
    tuned = load_checkpoint(words.folder / "tuned")
    assert tuned.tokenizer.files == origin.tokenizer.files
    assert tuned.config.search_rule == origin.config.search_rule
    assert tuned.config.marian_vocabulary == origin.config.marian_vocabulary
    assert tuned.config.beam_size == origin.config.beam_size
    for name, parameter in load_model(tuned).named_parameters():
        assert torch.equal(parameter, trainer.model.get_parameter(name)), name


BOTH = {"directions": [["en", "fr"], ["fr", "en"]]}
TAGGED = {"name": "words", "files": ["train.tsv"], "languages": ["en", "fr"], "tag": "bt"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model": SHAPE | {"activation": "relu", "d_ff": 64}}, "d_ff 48, not 64; act"),
        ({"model": SHAPE | {"position_layout": "interleaved"}}, "position_layout halves"),
        ({"model": SHAPE | {"output_bias": False}}, "output_bias True, not False"),
        (BOTH, "translates en → fr; the recipe also has fr → en"),
        ({"corpora": [TAGGED]}, "no symbol for the tag 'bt'"),
        ({"tokenizer": {"vocab_size": 0, "sampling": 0.1}}, "tokenizer.sampling is not possible"),
        ({"tokenizer": {"vocab_size": 999}}, r"has \d+ pieces, .* is 999"),
    ],
)  # fmt: skip
def test_recipes_that_do_not_fit_an_imported_model_are_refused_by_name(
    words: Workshop, make_folder: MakeFolder, changes: dict[str, Any], complaint: str
) -> None:
    origin = imported(make_folder, words.folder / "imported")
    with pytest.raises(TrainingError, match=complaint):
        words.open(init=WarmStart(origin), **recipe(**changes))


def test_a_damaged_origin_is_named(words: Workshop, make_folder: MakeFolder) -> None:
    origin = imported(make_folder, words.folder / "imported")
    trainer = words.open(init=WarmStart(origin), **recipe(schedule={"steps": 1}))
    trainer.train()
    for content in ("{", '{"name": ""}'):
        (trainer.run / "origin.json").write_text(content)
        with pytest.raises(TrainingError, match=r"origin\.json: "):
            words.open(resume=True, **recipe())


def test_the_words_of_the_vocabulary() -> None:
    assert {word for english, _ in PAIRS for word in english.split()} <= set(SOURCE_WORDS.split())
    assert {word for _, french in PAIRS for word in french.split()} <= set(TARGET_WORDS.split())
