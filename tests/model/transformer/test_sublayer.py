import torch
from torch import Tensor, nn
from torch.nn import functional

from model.transformer.sublayer import Sublayer, final_norm


def double(x: Tensor) -> Tensor:
    return 2 * x


def test_post_norm_normalises_the_residual_sum() -> None:
    x = torch.randn(2, 3, 8)
    expected = functional.layer_norm(3 * x, (8,))
    torch.testing.assert_close(Sublayer(8, "post", dropout=0.0)(x, double), expected)


def test_pre_norm_normalises_the_input() -> None:
    x = torch.randn(2, 3, 8)
    expected = x + 2 * functional.layer_norm(x, (8,))
    torch.testing.assert_close(Sublayer(8, "pre", dropout=0.0)(x, double), expected)


def test_dropout_is_on_the_sublayer_and_not_on_the_residual() -> None:
    x = torch.randn(2, 3, 8)
    sublayer = Sublayer(8, "pre", dropout=0.999999)
    torch.testing.assert_close(sublayer(x, double), x)
    sublayer.eval()
    assert not torch.allclose(sublayer(x, double), x)


def test_only_pre_norm_ends_in_a_norm() -> None:
    assert isinstance(final_norm(8, "pre"), nn.LayerNorm)
    assert isinstance(final_norm(8, "post"), nn.Identity)
