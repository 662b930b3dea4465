import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest
import torch

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.errors import TrainingError
from model.interop.marian_import import import_argos
from model.text.marian_tokenizer import MarianTokenizer
from model.text.multilingual_tokenizer import MultilingualTokenizer
from model.text.tokenizer import Tokenizer
from model.training.finish import write_checkpoint
from model.training.run import INIT_FILE
from model.training.warm_start import WarmStart, mean_rows, pieces_by_old, spread
from tests.argos_package import write_package
from tests.model.training.toy import Workshop, own, toy_pairs, write_pairs

PRE_NORM: dict[str, Any] = {"model": {"norm_order": "pre", "dropout": 0.0}}
TAGGED = {"name": "toy", "files": ["train.tsv"], "languages": ["xx", "yy"], "tag": "bt"}


@pytest.fixture
def origin(workshop: Workshop) -> Checkpoint:
    trainer = workshop.open("first", **PRE_NORM)
    trainer.train()
    write_checkpoint(trainer.run, trainer.config, "first", workshop.folder / "first-checkpoint")
    return load_checkpoint(workshop.folder / "first-checkpoint")


def test_a_warm_start_has_the_checkpoints_weights(workshop: Workshop, origin: Checkpoint) -> None:
    trainer = workshop.open("second", init=WarmStart(origin), **PRE_NORM)
    assert trainer.counters.step == 0
    for name, parameter in trainer.model.named_parameters():
        assert np.array_equal(parameter.detach().numpy(), origin.weights[name]), name
    assert isinstance(origin.tokenizer, Tokenizer)
    assert own(trainer.tokenizer).serialized == origin.tokenizer.serialized


def test_resuming_continues_from_the_state(workshop: Workshop, origin: Checkpoint) -> None:
    trainer = workshop.open("second", init=WarmStart(origin), **PRE_NORM)
    trainer.train()
    trained = {name: value.clone() for name, value in trainer.model.named_parameters()}
    again = workshop.open("second", resume=True, **PRE_NORM)
    assert again.counters.step == trainer.counters.step
    for name, parameter in again.model.named_parameters():
        assert torch.equal(parameter, trained[name])


def test_the_finished_checkpoint_names_its_start(workshop: Workshop, origin: Checkpoint) -> None:
    trainer = workshop.open("second", init=WarmStart(origin), **PRE_NORM)
    trainer.train()
    write_checkpoint(trainer.run, trainer.config, "second", workshop.folder / "second-checkpoint")
    training = json.loads((workshop.folder / "second-checkpoint" / "training.json").read_text())
    assert training["init"] == {"name": "first", "digest": origin.digest, "adapted": False}
    # A new run in the same folder does not use it.
    (trainer.run / "state-00000006").rename(workshop.folder / "elsewhere")
    workshop.open("second", **PRE_NORM)
    assert not (trainer.run / INIT_FILE).exists()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model": PRE_NORM["model"] | {"d_ff": 32}}, "d_ff 64, not 32"),
        ({"model": PRE_NORM["model"] | {"n_encoder_layers": 2}}, "n_encoder_layers 1, not 2"),
        ({"model": {"norm_order": "post"}}, "norm_order pre, not post"),
        (PRE_NORM | {"tokenizer": {"vocab_size": 330}}, "tokenizer.vocab_size is 330"),
        (PRE_NORM | {"directions": [["yy", "xx"]]}, "no target language 'xx'"),
        (PRE_NORM | {"corpora": [TAGGED]}, "no symbol for the tag 'bt'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(
    workshop: Workshop, origin: Checkpoint, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TrainingError, match=complaint):
        workshop.open("second", init=WarmStart(origin), **changes)


@pytest.mark.parametrize(
    ("codec", "adapt", "complaint"),
    [
        (MultilingualTokenizer, False, "the vocabulary of M2M-100 or NLLB"),
        (MarianTokenizer, True, "imported vocabulary cannot be replaced"),
    ],
)
def test_a_vocabulary_that_cannot_be_trained_or_replaced_is_refused(
    workshop: Workshop, origin: Checkpoint, codec: type, adapt: bool, complaint: str
) -> None:
    imported = replace(origin, tokenizer=create_autospec(codec, instance=True))
    with pytest.raises(TrainingError, match=complaint):
        workshop.open("second", init=WarmStart(imported, adapt), **PRE_NORM)


def test_a_model_whose_sources_have_no_end_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    import_argos(write_package(tmp_path / "en_fr"), tmp_path / "ours")
    imported = load_checkpoint(tmp_path / "ours")
    with pytest.raises(TrainingError, match="sources do not end with </s> alone, as in training"):
        workshop.open("second", init=WarmStart(imported), **PRE_NORM)


def test_search_and_alignment_are_kept(workshop: Workshop, origin: Checkpoint) -> None:
    alignment = AlignmentMethod(layer=0, head=2)
    changes = {"beam_size": 2, "length_penalty": 1.5, "alignment": alignment}
    adjusted = replace(origin, config=origin.config.model_copy(update=changes))
    trainer = workshop.open("second", init=WarmStart(adjusted), **PRE_NORM)
    trainer.train()
    write_checkpoint(trainer.run, trainer.config, "second", workshop.folder / "out")
    config = load_checkpoint(workshop.folder / "out").config
    assert (config.beam_size, config.length_penalty, config.alignment) == (2, 1.5, alignment)


def test_dropout_may_differ(workshop: Workshop, origin: Checkpoint) -> None:
    workshop.open("second", init=WarmStart(origin), model={"norm_order": "pre", "dropout": 0.3})


def test_a_deeper_model_begins_as_the_same_function(workshop: Workshop, origin: Checkpoint) -> None:
    deeper = {"model": PRE_NORM["model"] | {"n_encoder_layers": 3, "n_decoder_layers": 2}}
    trainer = workshop.open("second", init=WarmStart(origin, adapt=True), **deeper)
    source = torch.tensor([[2, 9, 12, 20, 0], [2, 30, 31, 32, 0]])
    target = torch.tensor([[325, 15, 16], [325, 40, 41]])
    # The same corpus gives the same vocabulary, so ids agree.
    assert isinstance(origin.tokenizer, Tokenizer)
    assert own(trainer.tokenizer).serialized == origin.tokenizer.serialized
    with torch.no_grad():
        before = load_model(origin)(source, target)
        after = trainer.model.eval()(source, target)
    torch.testing.assert_close(after, before, rtol=1e-5, atol=1e-5)
    trainer.train()  # and the new layers learn
    added = dict(trainer.model.named_parameters())["encoder.layers.0.feed_forward.w_2.weight"]
    assert added.detach().abs().max() > 0


def test_a_new_vocabulary_has_pieces_or_their_means(workshop: Workshop, origin: Checkpoint) -> None:
    write_pairs(workshop.folder / "train.tsv", [("bababa", "zyzyzy"), *toy_pairs(600)] * 2)
    trainer = workshop.open(
        "second", init=WarmStart(origin, adapt=True), **PRE_NORM, tokenizer={"vocab_size": 334}
    )
    old, new = origin.tokenizer, own(trainer.tokenizer)
    assert isinstance(old, Tokenizer)
    matrix = origin.weights["source_embedding.weight"]
    rows = trainer.model.source_embedding.weight.detach().numpy()
    olds = {old.piece(index): index for index in range(old.vocab_size)}
    for index in range(new.vocab_size):
        piece = new.piece(index)
        if piece in olds:
            assert np.array_equal(rows[index], matrix[olds[piece]]), piece
    composed = [piece for piece in map(new.piece, range(new.vocab_size)) if piece not in olds]
    assert composed
    for piece in composed:
        letters = [olds[letter] for letter in piece]
        index = next(i for i in range(new.vocab_size) if new.piece(i) == piece)
        np.testing.assert_allclose(rows[index], matrix[letters].mean(axis=0), rtol=1e-5)


def test_only_pre_norm_models_grow_and_none_shrinks(workshop: Workshop, origin: Checkpoint) -> None:
    two = {"model": PRE_NORM["model"] | {"n_encoder_layers": 2}}
    trainer = workshop.open("second", init=WarmStart(origin, adapt=True), **two)
    trainer.train()
    folder = workshop.folder / "second-checkpoint"
    write_checkpoint(trainer.run, trainer.config, "second", folder)
    with pytest.raises(TrainingError, match="n_encoder_layers can be increased"):
        workshop.open("third", init=WarmStart(load_checkpoint(folder), adapt=True), **PRE_NORM)

    post = workshop.open("post")
    post.train()
    write_checkpoint(post.run, post.config, "post", workshop.folder / "post-checkpoint")
    grown = WarmStart(load_checkpoint(workshop.folder / "post-checkpoint"), adapt=True)
    with pytest.raises(TrainingError, match="only pre-norm"):
        workshop.open("third", init=grown, model={"n_encoder_layers": 2})


@pytest.mark.parametrize(
    ("old", "new", "places"), [(6, 10, [0, 2, 4, 5, 7, 9]), (2, 2, [0, 1]), (1, 3, [2])]
)
def test_old_layers_stand_evenly_among_the_new(old: int, new: int, places: list[int]) -> None:
    assert spread(old, new) == places


def test_mean_rows_by_hand() -> None:
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert mean_rows(matrix, [[2], [0, 1]]).tolist() == [[5.0, 6.0], [2.0, 3.0]]
    assert mean_rows(matrix[:, 0], [[0], [1, 2]]).tolist() == [1.0, 4.0]


def test_every_piece_of_a_real_vocabulary_is_spelt(tmp_path: Path) -> None:
    shipped = load_checkpoint(Path("checkpoints/en-fr")).tokenizer
    assert isinstance(shipped, Tokenizer)
    assert pieces_by_old(shipped, shipped) == [[index] for index in range(shipped.vocab_size)]
