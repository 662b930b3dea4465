import pytest
import torch
from torch import Tensor, nn

from model.training.update.divergence import first_not_finite, parameter_not_finite


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.second(self.first(x)))


@pytest.fixture
def net() -> Net:
    return Net()


def test_a_parameter_is_named_first(net: Net) -> None:
    with torch.no_grad():
        net.second.weight[0, 0] = torch.nan
    assert parameter_not_finite(net) == "parameter second.weight"
    assert first_not_finite(net, lambda: net(torch.ones(1, 2))) == "parameter second.weight"


def test_the_first_module_whose_output_is_not_finite_is_named_second(net: Net) -> None:
    assert parameter_not_finite(net) is None
    place = first_not_finite(net, lambda: net(torch.tensor([[torch.inf, 0.0]])))
    assert place == "the output of first"


def test_a_gradient_is_named_third_and_the_loss_last(net: Net) -> None:
    def forward() -> object:
        return net(torch.ones(1, 2))

    assert first_not_finite(net, forward) == "the loss itself"
    net.first.bias.grad = torch.tensor([0.0, torch.inf])
    assert first_not_finite(net, forward) == "the gradient of first.bias"


def test_no_hook_is_left_behind(net: Net) -> None:
    def fail() -> object:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        first_not_finite(net, fail)
    assert not any(module._forward_hooks for module in net.modules())
