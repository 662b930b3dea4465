from collections.abc import Callable

import torch
from torch import Tensor

from model.transformer.transformer import Transformer


@torch.no_grad()
def test_the_encoder_is_equivariant_to_order(make_model: Callable[..., Transformer]) -> None:
    encoder = make_model().encoder
    x, mask = torch.randn(1, 5, 16), torch.tensor([[[[True, True, True, False, True]]]])
    order = torch.tensor([4, 2, 0, 1, 3])
    shuffled: Tensor = encoder(x[:, order], mask[..., order])
    torch.testing.assert_close(shuffled, encoder(x, mask)[:, order], atol=1e-5, rtol=1e-5)
