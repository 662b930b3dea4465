"""Inactive feed-forward units are counted and reported."""

import pytest
import torch

from model.training.validation import DeadUnits, HeldOut
from model.transformer.config import PRESETS, TransformerConfig, vocabulary_fields
from model.transformer.transformer import Transformer
from tests.model.training.toy import Recorder, Workshop, toy_pairs


@pytest.fixture
def model() -> Transformer:
    """One layer on each side, all of whose units are active."""
    torch.manual_seed(0)
    values = PRESETS["tiny"].model_dump() | vocabulary_fields(20, pad_id=19, eos_id=0)
    values |= {"max_length": 20, "n_encoder_layers": 1, "n_decoder_layers": 1}
    model = Transformer(TransformerConfig.model_validate(values)).eval()
    set_biases(model, 100.0)
    return model


def set_biases(model: Transformer, value: float) -> None:
    with torch.no_grad():
        for stack in (model.encoder, model.decoder):
            for layer in stack.layers:
                layer.feed_forward.w_1.bias.fill_(value)


SOURCE = torch.tensor([[3, 4, 5, 0], [6, 0, 19, 19]])
TARGET = torch.tensor([[7, 8, 0], [9, 0, 19]])


def watched(model: Transformer) -> DeadUnits:
    with DeadUnits(model) as units, torch.inference_mode():
        units.expect(SOURCE, TARGET, pad_id=19)
        model(SOURCE, TARGET)
    return units


def test_a_healthy_model_has_none(model: Transformer) -> None:
    assert watched(model).found() == (0.0, 0.0, [])


def test_a_dead_model_is_dead(model: Transformer) -> None:
    set_biases(model, -100.0)
    assert watched(model).found() == (1.0, 1.0, ["encoder.layers.0", "decoder.layers.0"])


def test_layers_are_counted_apart(model: Transformer) -> None:
    [layer] = model.encoder.layers
    d_ff = model.config.d_ff
    with torch.no_grad():
        layer.feed_forward.w_1.bias[: d_ff // 2] = -100.0
    assert watched(model).found() == (0.25, 0.5, [])


def test_activity_at_padding_does_not_count(model: Transformer) -> None:
    [layer] = model.encoder.layers
    w_1 = layer.feed_forward.w_1
    inputs_seen: list[torch.Tensor] = []
    handle = w_1.register_forward_pre_hook(lambda _, inputs: inputs_seen.append(inputs[0].clone()))
    watched(model)
    handle.remove()
    at_padding, real = inputs_seen[0][1, 3], inputs_seen[0][SOURCE != 19]
    with torch.no_grad():  # the first unit is active at padding only
        w_1.weight[0] = at_padding
        w_1.bias[0] = -(at_padding @ at_padding + (real @ at_padding).max()) / 2
    assert (real @ at_padding).max() < at_padding @ at_padding
    found = watched(model).found()
    assert found
    assert found.worst == 1 / model.config.d_ff


def test_steps_of_a_search_do_not_count(model: Transformer) -> None:
    with DeadUnits(model) as units, torch.inference_mode():
        model(SOURCE, TARGET)
        assert units.found() is None
        units.expect(SOURCE[:, :2], TARGET, pad_id=19)
        model.encode(SOURCE)
    assert units.found() is None


def test_hooks_are_removed_afterwards(model: Transformer) -> None:
    units = watched(model)
    set_biases(model, -100.0)
    model(SOURCE, TARGET)
    assert units.found() == (0.0, 0.0, [])
    assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_run_reports_them_and_warns_once(workshop: Workshop, precision: str) -> None:
    trainer = workshop.open("run", precision=precision, model={"dropout": 0.0})
    trainer.reporter = reporter = Recorder()
    sources, references = zip(*toy_pairs(60), strict=True)
    trainer.held_out = [HeldOut("dev", "yy", list(sources), list(references))]
    figures = trainer.validate()
    assert 0 <= figures["dead_units"] <= figures["dead_units_worst"] < 0.9
    assert not reporter.warnings
    set_biases(trainer.model, -100.0)
    for _ in range(2):
        figures = trainer.validate()
    assert figures["dead_units"] == figures["dead_units_worst"] == 1
    [warning] = reporter.warnings
    assert "more than 90% of the feed-forward units are never active" in warning
    assert "encoder.layers.0" in warning
    assert "schedule.peak" in warning
