import math

import pytest
import torch

from model.transformer.ssru import SSRU
from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel


@pytest.fixture
def model(make_model: MakeModel) -> Transformer:
    return make_model(autoregression="ssru")


def test_a_step_by_hand() -> None:
    unit = SSRU(2)
    with torch.no_grad():
        unit.w.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        unit.w_f.weight.copy_(torch.zeros(2, 2))
        unit.w_f.bias.copy_(torch.tensor([0.0, math.log(3)]))  # forget gates of 1/2 and 3/4
    x = torch.tensor([[[2.0, 4.0], [6.0, 8.0]]])
    output, state = unit(x, unit.start(x))
    # c_0 = (1/2 · 2, 1/4 · −4), c_1 = (1/2 · 1 + 1/2 · 6, 3/4 · −1 + 1/4 · −8)
    assert state.cell.tolist() == [pytest.approx([3.5, -2.75])]
    assert output[0].tolist() == [pytest.approx([1.0, 0.0]), pytest.approx([3.5, 0.0])]


def test_steps_are_the_whole_target(model: Transformer) -> None:
    sources, targets = torch.tensor([[5, 6, 7, 1]]), torch.tensor([[2, 9, 4, 8, 3]])
    with torch.no_grad():
        memory = model.encode(sources)
        cache = model.start(memory)
        stepped = torch.stack([model.step(ids, cache) for ids in targets.T], dim=1)
        whole = model.output(model.decode(memory, targets))
    assert torch.allclose(stepped, whole, atol=1e-5)


def test_later_tokens_change_nothing_before_them(model: Transformer) -> None:
    memory = model.encode(torch.tensor([[5, 6, 1]]))
    one, other = (model.decode(memory, torch.tensor([[2, 9, last]])) for last in (4, 7))
    assert torch.equal(one[:, :2], other[:, :2])
    assert not torch.equal(one[:, 2], other[:, 2])


def test_reordered_rows_take_their_state_along(model: Transformer) -> None:
    with torch.no_grad():
        cache = model.start(model.encode(torch.tensor([[5, 6, 1]] * 2)))
        model.step(torch.tensor([3, 8]), cache)
        cache.reorder(torch.tensor([1, 1]))
        logits = model.step(torch.tensor([4, 4]), cache)
    assert torch.allclose(logits[0], logits[1], atol=1e-6)


def test_it_learns(model: Transformer) -> None:
    logits = model(torch.tensor([[5, 6, 1]]), torch.tensor([[2, 9, 4]]))
    logits.sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
