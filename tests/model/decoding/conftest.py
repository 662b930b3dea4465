from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from model.decoding.padding import padded_ids
from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel


@pytest.fixture(scope="session")
def make_confident_model(make_model: MakeModel) -> MakeModel:
    """Tiny models that end some sentences and have some probable tokens."""

    def make(
        *, seed: int = 0, eos_bias: float = 0.0, certainty: float = 1.0, **changes: object
    ) -> Transformer:
        values = {"norm_order": "pre" if seed % 2 else "post", "start_id": 0 if seed % 3 else 2}
        model = make_model(seed=seed, output_bias=True, **(values | changes))
        generator = torch.Generator().manual_seed(1000 + seed)
        with torch.no_grad():
            assert model.output.bias is not None
            model.output.bias.normal_(std=0.5, generator=generator)
            model.output.bias[model.config.eos_id] += eos_bias
            model.output.weight.mul_(certainty)
        return model

    return make


@pytest.fixture(scope="session")
def draw_sources() -> Callable[..., Tensor]:
    """Ragged, right-padded sources that end in end-of-sentence."""

    def draw(model: Transformer, n_sentences: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        config = model.config
        rows: list[Sequence[int]] = []
        for _ in range(n_sentences):
            length = int(torch.randint(1, 9, (1,), generator=generator))
            ids = torch.randint(2, config.source_vocab_size, (length,), generator=generator)
            rows.append([*ids.tolist(), config.eos_id])
        return padded_ids(rows, config.pad_id, torch.device("cpu"))

    return draw
