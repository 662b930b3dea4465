import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from model.errors import TrainingError
from model.training.data.batches import START
from model.training.finish import write_checkpoint
from model.training.state import latest_state, load_counters
from model.training.trainer import Part, Trainer
from tests.model.training.toy import Recorder, Workshop

_WEIGHT = "layers.0.feed_forward.w_1.weight"


def full_state(trainer: Trainer) -> dict[str, Tensor]:
    """The state that determines the rest of a run."""
    weights = {name: value.detach() for name, value in trainer.model.named_parameters()}
    return weights | trainer._optimizer.state_tensors()


def assert_identical(left: Trainer, right: dict[str, Tensor]) -> None:
    found = full_state(left)
    assert found.keys() == right.keys()
    for name, value in found.items():
        assert torch.equal(value, right[name]), name


@pytest.mark.parametrize(("kind", "precision"), [("adam", "fp32"), ("muon", "bf16")])
@pytest.mark.parametrize("stop_at", [1, 4])
def test_stopped_and_resumed_is_bit_identical_to_one_go(
    workshop: Workshop, kind: str, precision: str, stop_at: int
) -> None:
    changes: dict[str, Any] = {
        "accumulate": 2,
        "optimizer": {"kind": kind},
        "noise": {"join": 0.2},
        "precision": precision,
    }
    whole = workshop.open("whole", **changes)
    whole.train()
    expected = full_state(whole)
    assert whole.counters.position.chunk > 0

    stopped = workshop.open("parts", **changes)
    figures = Recorder(
        then=lambda step: setattr(stopped, "stop_requested", step["step"] == stop_at)
    )
    stopped.reporter = figures
    stopped.train()
    assert stopped.counters.step == stop_at
    assert stopped.counters.position.batch > 0
    torch.manual_seed(99)  # a new process has another random generator
    resumed = workshop.open("parts", resume=True, **changes)
    assert resumed.counters == stopped.counters
    resumed.train()
    assert_identical(resumed, expected)
    assert resumed.counters.tokens == whole.counters.tokens


def test_dropout_is_on_while_training(workshop: Workshop) -> None:
    with_dropout, without = (
        workshop.open(name, model={"dropout": dropout})
        for name, dropout in (("a", 0.5), ("b", 0.0))
    )
    losses = []
    for trainer in (with_dropout, without):
        trainer.reporter = recorder = Recorder()
        trainer.train()
        losses.append(recorder.steps[0]["loss"])
    assert losses[0] != losses[1]


def test_accumulating_is_one_step_over_all_tokens(workshop: Workshop) -> None:
    accumulated = workshop.open("a", accumulate=3, schedule={"steps": 1}, model={"dropout": 0.0})
    other = workshop.open("b", model={"dropout": 0.0})
    batches = [batch for batch, _ in itertools.islice(other.stream.batches(START), 3)]
    losses = [other._loss(Part(batch, START, START)) for batch in batches]
    tokens = sum(int((batch.target != other.tokenizer.pad_id).sum()) for batch in batches)
    accumulated.reporter = recorder = Recorder()
    accumulated.train()
    (figures,) = recorder.steps
    assert figures["tokens"] == tokens
    assert figures["loss"] == pytest.approx(sum(x.smoothed.item() for x in losses) / tokens)
    assert figures["cross_entropy"] == pytest.approx(
        sum(x.cross_entropy.item() for x in losses) / tokens
    )


def test_steps_at_which_the_trainer_reports_and_saves(workshop: Workshop) -> None:
    recorder = Recorder()
    trainer = workshop.open(
        reporter=recorder,
        save_every=2,
        average_last=2,
        schedule={"steps": 5},
        validation={"files": {"dev": "train.tsv"}, "every": 3, "loss_pairs": 7, "bleu_pairs": 3},
        directions=[["xx", "yy"], ["yy", "xx"]],
    )
    trainer.train()
    assert [figures["step"] for figures in recorder.steps] == [1, 2, 3, 4, 5]
    assert [figures["step"] for figures in recorder.validations] == [3, 5]
    assert recorder.validations[0].keys() == {
        "step", "dev.yy.cross_entropy", "dev.yy.bleu", "dev.xx.cross_entropy", "dev.xx.bleu",
        "dead_units", "dead_units_worst",
    }  # fmt: skip
    assert recorder.steps[0]["cross_entropy"] == pytest.approx(math.log(326), rel=0.3)
    assert sorted(path.name for path in (trainer.run / "snapshots").iterdir()) == [
        "step-00000004.safetensors",
        "step-00000005.safetensors",
    ]
    state = latest_state(trainer.run)
    assert state is not None
    assert load_counters(state) == trainer.counters


def poison(trainer: Trainer, at_step: int) -> None:
    def spoil(figures: dict[str, float]) -> None:
        if figures["step"] == at_step:
            with torch.no_grad():
                trainer.model.get_parameter(f"encoder.{_WEIGHT}")[0, 0] = torch.nan

    trainer.reporter = Recorder(then=spoil)


def test_nan_stops_with_step_position_and_module_and_keeps_the_last_state(
    workshop: Workshop,
) -> None:
    trainer = workshop.open(save_every=2)
    poison(trainer, at_step=3)
    with pytest.raises(TrainingError) as caught:
        trainer.train()
    message = str(caught.value)
    assert message.startswith("the loss is not finite at step 4 (chunk 0, batch 3), first in ")
    assert "parameter encoder.layers.0.feed_forward" in message
    assert "the state of step 2 is kept" in message
    assert workshop.open(resume=True, save_every=2).counters.step == 2


def test_a_weight_that_is_not_finite_is_never_saved(workshop: Workshop) -> None:
    trainer = workshop.open(save_every=2)
    poison(trainer, at_step=2)
    with pytest.raises(
        TrainingError, match=r"a weight is not finite at step 2 .*nothing was saved"
    ):
        trainer.train()
    assert latest_state(trainer.run) is None
    assert not (trainer.run / "snapshots").exists()


def test_a_gradient_that_is_not_finite_is_never_applied(workshop: Workshop) -> None:
    trainer = workshop.open()
    weight = trainer.model.get_parameter(f"decoder.{_WEIGHT}")
    weight.register_hook(lambda gradient: gradient * torch.inf)
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    with pytest.raises(
        TrainingError,
        match=r"the gradient is not finite at step 1 .*the gradient of decoder\.layers\.0",
    ):
        trainer.train()
    for now, then in zip(trainer.model.parameters(), before, strict=True):
        assert torch.equal(now, then)


def test_a_huge_learning_rate_is_named(workshop: Workshop) -> None:
    trainer = workshop.open(schedule={"peak": 1e38, "warmup_steps": 1})
    with pytest.raises(TrainingError, match=r"not finite at step \d.*lower schedule\.peak"):
        trainer.train()


def test_bf16_training_lowers_the_loss(workshop: Workshop) -> None:
    recorder = Recorder()
    workshop.open(precision="bf16", schedule={"steps": 30}, reporter=recorder).train()
    assert recorder.steps[-1]["loss"] < 0.8 * recorder.steps[0]["loss"]


def test_a_finished_run_resumed_does_nothing(workshop: Workshop, tmp_path: Path) -> None:
    trainer = workshop.open()
    trainer.train()
    expected = full_state(trainer)
    again = workshop.open(resume=True)
    again.train()
    assert_identical(again, expected)


def test_the_padding_row_stays_zero_though_the_output_is_tied_to_it(workshop: Workshop) -> None:
    trainer = workshop.open("run")
    trainer.train()
    embedding = trainer.model.target_embedding
    assert trainer.model.output.weight is embedding.weight
    assert embedding.weight[embedding.pad_id].count_nonzero() == 0


MEASURED = {"files": {"dev": "train.tsv"}, "every": 2, "loss_pairs": 5, "bleu_pairs": 2}


def measured(monkeypatch: pytest.MonkeyPatch, values: list[float], metric: str) -> None:
    """Set the measurements of the next run."""
    rest = iter(values)
    monkeypatch.setattr(
        Trainer, "validate", lambda trainer: {"step": 0.0, f"dev.yy.{metric}": next(rest)}
    )


@pytest.mark.parametrize(
    ("metric", "values"), [("cross_entropy", [3.0, 2.0, 2.5, 2.1]), ("bleu", [1.0, 9.0, 8.0, 9.0])]
)
def test_a_run_stops_after_measurements_without_gain_and_keeps_the_best(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, metric: str, values: list[float]
) -> None:
    settings = MEASURED | {"metric": metric, "patience": 2, "keep_best": True}
    changes: dict[str, Any] = {"validation": settings, "schedule": {"steps": 100}}
    measured(monkeypatch, values[:3], metric)
    best: dict[str, Tensor] = {}
    trainer = workshop.open(**changes)
    weight = trainer.model.get_parameter(f"decoder.{_WEIGHT}")

    def watch(figures: dict[str, float]) -> None:
        if figures["step"] == 4:
            best["weight"] = weight.detach().clone()
        trainer.stop_requested = figures["step"] == 6

    trainer.reporter = Recorder(then=watch)
    trainer.train()
    assert not trainer.is_finished
    measured(monkeypatch, values[3:], metric)
    resumed = workshop.open(resume=True, **changes)
    resumed.train()
    assert resumed.is_finished
    assert resumed.counters.step == 8
    write_checkpoint(resumed.run, resumed.config, "toy", resumed.run / "out")
    written = load_file(resumed.run / "out" / "model.safetensors")[f"decoder.{_WEIGHT}"]
    assert torch.equal(written, best["weight"])


def test_the_best_of_a_run_that_was_not_measured_is_missed_by_name(workshop: Workshop) -> None:
    trainer = workshop.open(
        validation=MEASURED | {"every": 50, "keep_best": True}, schedule={"steps": 100}
    )
    trainer.stop_requested = True
    trainer.train()
    with pytest.raises(TrainingError, match=r"no step was measured yet; validation\.every"):
        write_checkpoint(trainer.run, trainer.config, "toy", trainer.run / "out")
