from typing import Literal

import pytest
import torch

from model.errors import TrainingError
from model.training.update.optimizer import Optimizer, OptimizerConfig, ScheduleConfig
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer

Kind = Literal["adam", "muon"]
KINDS: tuple[Kind, ...] = ("adam", "muon")


def step(model: Transformer, optimizer: Optimizer, seed: int) -> None:
    source = torch.randint(1, 64, (2, 5), generator=torch.Generator().manual_seed(seed))
    model(source, source).square().mean().backward()
    optimizer.step(1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_restored_state_makes_bit_identical_steps(kind: Kind) -> None:
    config = OptimizerConfig(kind=kind, weight_decay=0.01)
    model, again = Transformer(PRESETS["tiny"]), Transformer(PRESETS["tiny"])
    optimizer = Optimizer(model, config)
    for seed in range(3):
        step(model, optimizer, seed)
    again.load_state_dict(model.state_dict())
    restored = Optimizer(again, config)
    restored.load_state_tensors(
        {name: tensor.clone() for name, tensor in optimizer.state_tensors().items()}
    )
    for seed in range(3, 6):
        step(model, optimizer, seed)
        step(again, restored, seed)
    for ours, theirs in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_moved_once(kind: Kind) -> None:
    model = Transformer(PRESETS["tiny"])
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    Optimizer(model, OptimizerConfig(kind=kind)).step(1e-2)
    for name, parameter in model.named_parameters():
        assert not torch.equal(parameter, before[name]), name
        assert parameter.grad is None


def test_adam_is_torchs_with_the_papers_settings() -> None:
    model, twin = Transformer(PRESETS["tiny"]), Transformer(PRESETS["tiny"])
    twin.load_state_dict(model.state_dict())
    optimizer = Optimizer(model, OptimizerConfig())
    oracle = torch.optim.Adam(twin.parameters(), lr=1e-2, betas=(0.9, 0.98), eps=1e-9)
    for _ in range(3):
        for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
            ours.grad = torch.randn_like(ours)
            theirs.grad = ours.grad.clone()
        optimizer.step(1e-2)
        oracle.step()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(("clip_norm", "norm_after"), [(0.0, 10.0), (1.0, 1.0), (20.0, 10.0)])
def test_clip(clip_norm: float, norm_after: float) -> None:
    model = Transformer(PRESETS["tiny"])
    scale = 10.0 / model.n_parameters() ** 0.5
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, scale)
    assert Optimizer(model, OptimizerConfig(clip_norm=clip_norm)).clip() == pytest.approx(
        10, rel=1e-4
    )
    squares = sum(
        float((parameter.grad**2).sum())
        for parameter in model.parameters()
        if parameter.grad is not None
    )
    assert squares**0.5 == pytest.approx(norm_after, rel=1e-4)


@pytest.mark.parametrize("fault", ["shape", "missing", "unknown part", "name"])
def test_state_of_another_model_is_refused(fault: str) -> None:
    model = Transformer(PRESETS["tiny"])
    optimizer = Optimizer(model, OptimizerConfig())
    step(model, optimizer, 0)
    tensors = optimizer.state_tensors()
    if fault == "shape":
        tensors["0.0.exp_avg"] = torch.zeros(3, 3)
    elif fault == "missing":
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("0.1.")}
    elif fault == "unknown part":
        tensors["1.0.momentum_buffer"] = torch.zeros(3)
    else:
        tensors["0.x.exp_avg"] = torch.zeros(3)
    with pytest.raises(TrainingError, match="optimizer state"):
        optimizer.load_state_tensors(tensors)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, 512**-0.5 * 4000**-1.5),
        (2000, 512**-0.5 * 2000 * 4000**-1.5),
        (4000, 0.000_698_771_2),  # the paper's peak: (512 · 4000)^−½
        (16_000, 0.000_698_771_2 / 2),
        (100_000, 512**-0.5 * 100_000**-0.5),
    ],
)
def test_default_is_equation_3(step: int, expected: float) -> None:
    assert ScheduleConfig().learning_rate(step, 512) == pytest.approx(expected, rel=1e-6)


def test_peak_scales_equation_3() -> None:
    doubled = ScheduleConfig(peak=2.0).learning_rate(123, 512)
    assert doubled == pytest.approx(2 * ScheduleConfig().learning_rate(123, 512))


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1, 0.1), (5, 0.5), (10, 1.0), (11, 1.0), (80, 1.0), (81, 1.0), (82, 0.95), (91, 0.5),
     (100, 0.05), (101, 0.0), (500, 0.0)],
)  # fmt: skip
def test_trapezoid(step: int, expected: float) -> None:
    schedule = ScheduleConfig(
        shape="trapezoid", peak=1.0, warmup_steps=10, steps=100, decay_steps=20
    )
    assert schedule.learning_rate(step, 512) == pytest.approx(expected)


def test_trapezoid_without_decay_stays_at_its_peak() -> None:
    schedule = ScheduleConfig(shape="trapezoid", peak=0.5, warmup_steps=2, steps=9)
    assert [schedule.learning_rate(step, 8) for step in (1, 2, 9)] == [0.25, 0.5, 0.5]


def test_prolonging_a_trapezoid_changes_no_step_before_its_decay() -> None:
    short, long = (
        ScheduleConfig(shape="trapezoid", warmup_steps=10, steps=steps, decay_steps=20)
        for steps in (100, 300)
    )
    for step in range(1, 81):
        assert short.learning_rate(step, 64) == long.learning_rate(step, 64)
