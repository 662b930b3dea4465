from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint.reader import load_checkpoint
from model.errors import TrainingError
from model.training.finish import write_checkpoint
from model.training.snapshots import AVERAGE_FILE, MovingAverage
from model.training.state import latest_state, load_tensors
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer
from tests.model.training.toy import Workshop

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
