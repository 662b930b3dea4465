"""Small models for the tests of all engines."""

import pytest
import torch

from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel


@pytest.fixture(scope="session")
def make_varied_model(make_model: MakeModel) -> MakeModel:
    """Tiny models that do not repeat one token; `eos_bias` determines how soon they end.

    The next token depends on the whole source and prefix: biases are small, and the layers'
    matrices large.
    """

    def make(
        *, seed: int = 0, eos_bias: float = 0.0, output_bias: bool = True, **changes: object
    ) -> Transformer:
        values = {"max_length": 36, "n_decoder_layers": 2} | changes
        model = make_model(seed=seed, output_bias=output_bias, **values)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.sub_(1)
                elif ".layers." in name and parameter.dim() > 1:
                    parameter.mul_(2)
            if model.output.bias is not None:
                model.output.bias[model.config.eos_id] += eos_bias
        return model

    return make


@pytest.fixture
def model(make_varied_model: MakeModel) -> Transformer:
    """Translates some sentences into more than a page, and has a matrix of odd size."""
    return make_varied_model(
        d_model=20, d_ff=50, source_vocab_size=150, target_vocab_size=150, max_length=40,
        norm_order="pre", activation="gelu", eos_bias=2.5,
    )  # fmt: skip


@pytest.fixture
def endless(make_varied_model: MakeModel) -> Transformer:
    """Never ends a sentence."""
    return make_varied_model(eos_bias=-100, max_length=40)
