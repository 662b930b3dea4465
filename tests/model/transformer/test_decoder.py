from collections.abc import Callable

import torch

from model.transformer.attention import KeyValue
from model.transformer.transformer import Transformer


@torch.no_grad()
def test_the_memory_is_projected_once_and_only_the_past_grows(
    make_model: Callable[..., Transformer],
) -> None:
    model = make_model()
    memory = model.encode(torch.tensor([[5, 6, 1]]))
    cache = model.decoder.start(memory.states, memory.mask)
    assert len(cache.layers) == model.config.n_decoder_layers
    projected = [layer.memory.keys for layer in cache.layers]
    for step in range(3):
        for layer in cache.layers:
            assert isinstance(layer.past, KeyValue)
            assert layer.past.keys.shape == (1, 4, step, 4)
        model.decoder.step(torch.randn(1, 1, 16), cache)
    assert all(
        layer.memory.keys is keys for layer, keys in zip(cache.layers, projected, strict=True)
    )


@torch.no_grad()
def test_padding_of_the_memory_is_never_looked_at(make_model: Callable[..., Transformer]) -> None:
    decoder = make_model().decoder
    x, memory = torch.randn(1, 4, 16), torch.randn(1, 3, 16)
    mask = torch.tensor([[[[True, True, False]]]])
    other = memory.clone()
    other[:, 2] = 1e3
    torch.testing.assert_close(decoder(x, memory, mask), decoder(x, other, mask))
    other[:, 1] = 1e3
    assert not torch.allclose(decoder(x, memory, mask), decoder(x, other, mask))
