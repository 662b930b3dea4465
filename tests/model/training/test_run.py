import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.decoding.padding import padded_ids
from model.errors import DataError, ModelError, TrainingError
from model.training.config import TrainingConfig
from model.training.finish import write_checkpoint
from model.training.run import check_recipe, open_run
from model.training.snapshots import average_saves
from model.training.trainer import Trainer
from tests.model.training.toy import Recorder, Workshop, own, reverse, toy_pairs, write_pairs


def opened(workshop: Workshop, recipe: dict[str, Any]) -> Trainer:
    config = TrainingConfig.parse(recipe, "recipe")
    folder, device = workshop.folder, torch.device("cpu")
    return open_run(config, folder / "second", folder, Recorder(), device, resume=False)


def test_a_tiny_model_learns_to_reverse(workshop: Workshop) -> None:
    """A whole run, from files to a checkpoint that translates."""
    write_pairs(workshop.folder / "train.tsv", toy_pairs(4000, longest=5))
    write_pairs(workshop.folder / "dev.tsv", toy_pairs(50, seed=1, longest=5))
    recorder = Recorder()
    trainer = workshop.open(
        reporter=recorder,
        model={"d_model": 64, "d_ff": 128, "dropout": 0.0, "norm_order": "pre"},
        optimizer={"kind": "muon"},
        schedule={"peak": 5e-3, "warmup_steps": 20, "steps": 600, "decay_steps": 400},
        validation={"files": {"dev": "dev.tsv"}, "every": 100},
        batch_tokens=600,
        chunk_pairs=2000,
        save_every=20,
    )
    trainer.train()
    first, *_, last = (figures["dev.yy.cross_entropy"] for figures in recorder.validations)
    assert last < 0.2 < first  # smoothing alone costs 0.105
    folder = workshop.folder / "checkpoint"
    write_checkpoint(trainer.run, trainer.config, "toy", folder)

    checkpoint = load_checkpoint(folder)
    assert checkpoint.config.directions == [("xx", "yy")]
    tokenizer = checkpoint.tokenizer
    unseen = [source for source, _ in toy_pairs(200, seed=2, longest=5)]
    sources = padded_ids(
        [[token.id for token in tokenizer.encode_source(text, "yy")] for text in unseen],
        tokenizer.pad_id,
        torch.device("cpu"),
    )
    found = beam_search(load_model(checkpoint), sources, SearchOptions(beam_size=1))
    outputs = [tokenizer.decode(best.ids) for best, *_ in found]
    exact = sum(output == reverse(text) for output, text in zip(outputs, unseen, strict=True))
    letters = [
        ours == theirs
        for output, text in zip(outputs, unseen, strict=True)
        for ours, theirs in zip(output.ljust(len(text)), reverse(text), strict=False)
    ]
    assert sum(letters) > 0.99 * len(letters)
    assert exact > 0.95 * len(unseen)


def test_a_run_folder_holds_recipe_and_vocabulary(workshop: Workshop) -> None:
    trainer = workshop.open()
    recipe = json.loads((trainer.run / "recipe.json").read_text())
    assert recipe == trainer.config.model_dump(mode="json")
    assert (trainer.run / "tokenizer.model").read_bytes() == own(trainer.tokenizer).serialized


def test_a_run_is_not_overwritten_without_resume(workshop: Workshop) -> None:
    workshop.open(schedule={"steps": 1}).train()
    with pytest.raises(TrainingError, match="already has a run; continue it with --resume"):
        workshop.open()


def test_there_must_be_a_run_to_resume(workshop: Workshop) -> None:
    with pytest.raises(TrainingError, match="contains no run"):
        workshop.open(resume=True)
    assert not (workshop.folder / "run").exists()


def test_a_run_that_never_saved_starts_again(workshop: Workshop) -> None:
    first = workshop.open()
    (first.run / "log.jsonl").write_text('{"step": 1, "tokens": 3}\n')
    (first.run / "snapshots").mkdir()
    again = workshop.open(tokenizer={"vocab_size": 330}, seed=4)
    assert own(again.tokenizer).vocab_size == 330
    assert sorted(path.name for path in again.run.iterdir()) == ["recipe.json", "tokenizer.model"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"seed": 2}, "seed"),
        ({"noise": {"join": 0.5}}, "noise.join"),
        ({"optimizer": {"clip_norm": 1.0}}, "optimizer.clip_norm"),
        ({"model": {"dropout": 0.3}}, "model.dropout"),
        ({"batch_tokens": 201, "chunk_pairs": 7}, "batch_tokens, chunk_pairs"),
        ({"directions": [["yy", "xx"]]}, "directions"),
    ],
)
def test_changed_recipes_are_refused(workshop: Workshop, change: dict[str, Any], name: str) -> None:
    run = workshop.open(schedule={"steps": 1})
    run.train()
    with pytest.raises(TrainingError, match=rf"recipe\.json: .* another {name}; use the same"):
        workshop.open(resume=True, **change)


def test_length_and_measurements_may_change(workshop: Workshop) -> None:
    workshop.open(schedule={"steps": 2}).train()
    again = workshop.open(
        resume=True,
        schedule={"steps": 4, "peak": 1e-4},
        validation={"every": 2},
        accumulate=2,
        save_every=3,
        average_last=1,
        precision="bf16",
    )
    again.train()
    assert again.counters.step == 4


@pytest.mark.parametrize("content", ["{", "[]", '{"seed": 1}'])
def test_a_damaged_recipe_is_named(workshop: Workshop, content: str) -> None:
    trainer = workshop.open()
    (trainer.run / "recipe.json").write_text(content)
    with pytest.raises(ModelError, match=r"recipe\.json: "):
        check_recipe(trainer.run, trainer.config)


def test_the_log_is_cut_back_to_the_state(workshop: Workshop) -> None:
    trainer = workshop.open(schedule={"steps": 2})
    trainer.train()
    log = trainer.run / "log.jsonl"
    log.write_text("".join(f'{{"step": {step}, "tokens": 1}}\n' for step in (1, 2, 3, 4)))
    workshop.open(resume=True)
    assert log.read_text().count("\n") == 2


def test_a_run_folder_that_is_a_file(workshop: Workshop) -> None:
    (workshop.folder / "run").write_text("")
    with pytest.raises(TrainingError, match="run: File exists"):
        workshop.open()


@pytest.mark.parametrize(
    "change",
    [
        {"corpora": [{"name": "toy", "files": ["no.tsv"], "languages": ["xx", "yy"]}]},
        {"validation": {"files": {"dev": "no.tsv"}}},
    ],
)
def test_missing_files_are_named_at_the_start(workshop: Workshop, change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"no\.tsv: no such file; set its folder with --corpora"):
        workshop.open(**change)
    assert not (workshop.folder / "run").exists()


def test_validation_is_for_the_directions_that_are_trained(workshop: Workshop) -> None:
    files: dict[str, Any] = {"validation": {"files": {"dev": "train.tsv"}, "loss_pairs": 5}}
    (forward,) = workshop.open("a", **files).held_out
    (backward,) = workshop.open("b", directions=[["yy", "xx"]], **files).held_out
    assert (forward.target_language, backward.target_language) == ("yy", "xx")
    assert len(forward.sources) == 5
    assert (forward.sources, forward.references) == (backward.references, backward.sources)


def test_finish_writes_what_a_stopped_run_has(workshop: Workshop) -> None:
    trainer = workshop.open(schedule={"steps": 50}, save_every=4)

    def stop(figures: dict[str, float]) -> None:
        trainer.stop_requested = figures["step"] == 6

    trainer.reporter = Recorder(then=stop)
    trainer.train()
    folder = workshop.folder / "checkpoint"
    write_checkpoint(trainer.run, trainer.config, "half", folder)
    weights = average_saves(trainer.run, 5)
    checkpoint = load_checkpoint(folder)
    for name, parameter in load_model(checkpoint).named_parameters():
        assert torch.equal(parameter, weights[name])
    training = json.loads((folder / "training.json").read_text())
    assert training["step"] == 6
    assert training["recipe"]["schedule"]["steps"] == 50
    assert "for 6 steps" in (folder / "CARD.md").read_text()
    assert workshop.open(resume=True, schedule={"steps": 50}, save_every=4).counters.step == 6


def test_finish_needs_a_save_and_the_runs_own_recipe(workshop: Workshop, tmp_path: Path) -> None:
    trainer = workshop.open()
    with pytest.raises(TrainingError, match="nothing saved yet"):
        write_checkpoint(trainer.run, trainer.config, "none", tmp_path / "checkpoint")
    other = trainer.config.model_copy(update={"seed": 5})
    with pytest.raises(TrainingError, match="another seed"):
        write_checkpoint(trainer.run, other, "none", tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


def test_weights_stored_in_half_precision_are_the_rounded_ones(workshop: Workshop) -> None:
    trainer = workshop.open(schedule={"steps": 2}, store="fp16")
    trainer.train()
    folder = workshop.folder / "checkpoint"
    write_checkpoint(trainer.run, trainer.config, "half", folder)
    weights = average_saves(trainer.run, 5)
    for name, parameter in load_model(load_checkpoint(folder)).named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, weights[name].half().float())


def test_weights_beyond_half_precision_are_refused_by_name(workshop: Workshop) -> None:
    trainer = workshop.open(schedule={"steps": 2, "peak": 1e-9}, store="fp16")
    name = "encoder.layers.0.self_attention.w_q.bias"
    with torch.no_grad():
        trainer.model.get_parameter(name).fill_(1e5)
    trainer.train()
    folder = workshop.folder / "checkpoint"
    with pytest.raises(
        TrainingError, match=f"'{re.escape(name)}' has weights outside the range of fp16"
    ):
        write_checkpoint(trainer.run, trainer.config, "half", folder)
    assert not folder.exists()


def test_a_given_vocabulary_is_used(workshop: Workshop) -> None:
    learnt = workshop.open("first", tokenizer={"kind": "bpe"})
    given = workshop.folder / "given.model"
    given.write_bytes(own(learnt.tokenizer).serialized)
    recipe = {"tokenizer": {"file": "given.model"}}
    recipes = workshop.recipe()
    del recipes["tokenizer"]
    run = opened(workshop, recipes | recipe)
    assert own(run.tokenizer).serialized == own(learnt.tokenizer).serialized
    assert run.model.config.target_vocab_size == own(learnt.tokenizer).vocab_size


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"languages": ["xx", "zz"]}, r"given\.model: no target language 'zz'"),
        ({"tag": "bt"}, r"given\.model: the vocabulary has no symbol for the tag 'bt'"),
    ],
)
def test_a_given_vocabulary_without_a_symbol_is_refused(
    workshop: Workshop, corpus: dict[str, Any], message: str
) -> None:
    learnt = workshop.open("first", directions=[])
    (workshop.folder / "given.model").write_bytes(own(learnt.tokenizer).serialized)
    recipe = workshop.recipe() | {"tokenizer": {"file": "given.model"}, "directions": []}
    recipe["corpora"] = [recipe["corpora"][0] | corpus]
    recipe["validation"] = {}
    with pytest.raises(TrainingError, match=message):
        opened(workshop, recipe)


def test_corpora_are_filtered_and_counted(workshop: Workshop) -> None:
    pairs = toy_pairs(200)
    write_pairs(workshop.folder / "double.tsv", [*pairs, *pairs, ("", "x")])
    recorder = Recorder()
    recipe = {"name": "double", "files": ["double.tsv"], "languages": ["xx", "yy"]}
    workshop.open(corpora=[recipe], filters={"duplicates": True}, reporter=recorder)
    counts = recorder.corpora["double"]
    assert counts.read == 401
    assert counts.kept == len(set(pairs))
    assert counts.dropped == {"empty": 1, "duplicates": 400 - len(set(pairs))}


def test_a_corpus_without_remaining_pairs_is_refused(workshop: Workshop) -> None:
    write_pairs(workshop.folder / "same.tsv", [("a", "a"), ("b", "b")])
    recipe = {"name": "same", "files": ["same.tsv"], "languages": ["xx", "yy"]}
    with pytest.raises(DataError, match=r"corpus 'same': 2 pairs, 0 kept \(dropped: 2 identical\)"):
        workshop.open(corpora=[recipe], filters={"identical": True})


def test_pairs_longer_than_max_length_are_counted_when_a_run_starts(workshop: Workshop) -> None:
    long = [("abcdefgh" * 8, "x" * 64)] * 3
    write_pairs(workshop.folder / "train.tsv", [*toy_pairs(100), *long])
    recorder = Recorder()
    workshop.open(reporter=recorder, schedule={"steps": 1}).train()
    assert str(recorder.corpora["toy"]) == "103 pairs, 100 kept (dropped: 3 max_length)"
    workshop.open(reporter=recorder, resume=True)
    assert str(recorder.corpora["toy"]) == "103 pairs, 103 kept"


def test_a_corpus_with_only_long_pairs_is_refused(workshop: Workshop) -> None:
    write_pairs(workshop.folder / "long.tsv", [("abcdefgh" * 8, "x" * 64)] * 3)
    corpora = [*workshop.recipe()["corpora"]]
    corpora.append({"name": "long", "files": ["long.tsv"], "languages": ["xx", "yy"]})
    with pytest.raises(DataError, match=r"corpus 'long': 3 pairs, 0 kept .*3 max_length"):
        workshop.open(corpora=corpora)


def test_held_out_sentences_are_kept_out_of_training(workshop: Workshop) -> None:
    pairs = toy_pairs(600)
    write_pairs(workshop.folder / "dev.tsv", [(pairs[3][0], "other"), ("other", pairs[5][1])])
    recorder = Recorder()
    trainer = workshop.open(
        reporter=recorder, filters={"held_out": True}, validation={"files": {"dev": "dev.tsv"}}
    )
    (corpus,) = trainer.stream.corpora
    assert pairs[3] not in corpus.pairs
    assert pairs[5] not in corpus.pairs
    assert recorder.corpora["toy"].held_out >= 2


def test_a_run_may_go_on_without_naming_the_size_of_its_vocabulary(workshop: Workshop) -> None:
    workshop.open(schedule={"steps": 1}).train()
    again = workshop.open(resume=True, tokenizer={"vocab_size": 0})
    assert again.counters.step == 1
