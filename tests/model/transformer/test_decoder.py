from collections.abc import Callable

import torch

from model.transformer.attention import KeyValue
from model.transformer.transformer import Transformer


@torch.no_grad()
def test_the_memory_is_projected_once(make_model: Callable[..., Transformer]) -> None:
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
