from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint.reader import load_checkpoint
from model.errors import TrainingError
from model.training.finish import write_checkpoint
from model.training.snapshots import AVERAGE_FILE, MovingAverage, average_saves, save_snapshot
from model.training.state import Counters, latest_state, load_tensors, save_state
from model.training.update.optimizer import Optimizer, OptimizerConfig
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer
from tests.model.training.toy import Workshop


def filled(value: float) -> Transformer:
    model = Transformer(PRESETS["tiny"])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)
    return model


def values(run: Path, count: int) -> set[float]:
    return {
        float(number)
        for tensor in average_saves(run, count).values()
        for number in tensor.unique().tolist()
    }


def test_average_by_hand(tmp_path: Path) -> None:
    for step, value in ((10, 1.0), (20, 2.0), (30, 6.0)):
        save_snapshot(tmp_path, filled(value), step, keep=5)
    assert values(tmp_path, 1) == {6.0}
    assert values(tmp_path, 2) == {4.0}
    assert values(tmp_path, 3) == {3.0}
    assert values(tmp_path, 9) == {3.0}


def test_average_has_every_parameter_once_in_float32(tmp_path: Path) -> None:
    model = filled(0.5)
    save_snapshot(tmp_path, model, 1, keep=1)
    average = average_saves(tmp_path, 1)
    assert average.keys() == dict(model.named_parameters()).keys()
    assert {tensor.dtype for tensor in average.values()} == {torch.float32}


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for step in (5, 50, 500, 5000):
        save_snapshot(tmp_path, filled(1.0), step, keep=2)
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == [
        "step-00000500.safetensors",
        "step-00005000.safetensors",
    ]


def test_a_state_behind_the_last_snapshot_counts_as_a_save(tmp_path: Path) -> None:
    def save(step: int, value: float) -> None:
        model = filled(value)
        save_state(tmp_path, model, Optimizer(model, OptimizerConfig()), Counters(step))

    save(7, 1.0)
    assert values(tmp_path, 5) == {1.0}
    save_snapshot(tmp_path, filled(1.0), 7, keep=5)
    assert values(tmp_path, 5) == {1.0}
    save(9, 4.0)
    assert values(tmp_path, 1) == {4.0}
    assert values(tmp_path, 5) == {2.5}


def test_nothing_to_average(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="nothing saved yet"):
        average_saves(tmp_path, 5)


def test_damaged_snapshot_is_named(tmp_path: Path) -> None:
    save_snapshot(tmp_path, filled(1.0), 3, keep=5)
    path = tmp_path / "snapshots" / "step-00000003.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TrainingError, match="step-00000003"):
        average_saves(tmp_path, 5)


DECAY: dict[str, Any] = {"ema": 0.9}


def test_the_average_by_hand() -> None:
    model = Transformer(PRESETS["tiny"])
    average = MovingAverage(0.25)
    weights = []
    for step, value in ((1, 8.0), (2, 4.0), (3, 2.0)):
        with torch.no_grad():
            model.output.weight.fill_(value)
        average.update(model, step)
        weights.append(average.tensors["source_embedding.weight"][0, 0].item())
    # The decay of step 2 is 3/12, that of step 3 would be 4/13, above the limit.
    assert weights == pytest.approx([8.0, 8 * 0.25 + 4 * 0.75, 5 * 0.25 + 2 * 0.75])
    assert MovingAverage(0.0).tensors == {}


def test_a_resumed_run_has_the_same_average(workshop: Workshop) -> None:
    workshop.open("whole", **DECAY).train()
    workshop.open("parts", **DECAY, schedule={"steps": 3}).train()
    workshop.open("parts", **DECAY, resume=True).train()
    whole, parts = (average_of(workshop.folder / run) for run in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, parts[name]), name


def test_the_checkpoint_is_the_average_and_not_the_last_step(workshop: Workshop) -> None:
    trainer = workshop.open(**DECAY)
    trainer.train()
    write_checkpoint(trainer.run, trainer.config, "average", workshop.folder / "out")
    weights = load_checkpoint(workshop.folder / "out").weights
    for name, tensor in average_of(trainer.run).items():
        assert torch.equal(torch.from_numpy(weights[name]), tensor)
    last = trainer.model.get_parameter("source_embedding.weight")
    assert not torch.equal(torch.from_numpy(weights["source_embedding.weight"]), last)


def test_a_run_without_an_average_does_not_get_one(workshop: Workshop) -> None:
    trainer = workshop.open(schedule={"steps": 1})
    trainer.train()
    assert not list(trainer.run.rglob(AVERAGE_FILE))
    with pytest.raises(TrainingError, match="another ema"):
        workshop.open(resume=True, **DECAY)


def test_a_lost_average_is_named(workshop: Workshop) -> None:
    trainer = workshop.open(**DECAY)
    trainer.train()
    state = latest_state(trainer.run)
    assert state
    (state / AVERAGE_FILE).unlink()
    with pytest.raises(TrainingError, match=f"{AVERAGE_FILE}: cannot be read"):
        workshop.open(resume=True, **DECAY)


def average_of(run: Path) -> dict[str, torch.Tensor]:
    state = latest_state(run)
    assert state
    return load_tensors(state / AVERAGE_FILE)
