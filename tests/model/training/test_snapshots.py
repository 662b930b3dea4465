from pathlib import Path

import pytest
import torch

from model.errors import TrainingError
from model.training.snapshots import average_saves, save_snapshot
from model.training.state import Counters, save_state
from model.training.update.optimizer import Optimizer, OptimizerConfig
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer


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
