from typing import Any

import pytest

from model.checkpoint.parameters import parameter_shapes
from model.transformer.config import PRESETS
from model.transformer.transformer import transformer_without_weights

APART: dict[str, Any] = {"share_embeddings": False, "tie_output": False, "source_vocab_size": 50}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_order": "pre"},
        {"output_bias": False},
        {"output_bias": True},
        {"tie_output": False},
        APART,
        {"autoregression": "ssru"},
        {"decoder_d_ff": 7, "n_encoder_layers": 1, "n_decoder_layers": 3},
    ],
    ids=str,
)
def test_they_are_those_of_the_model(changes: dict[str, Any]) -> None:
    config = PRESETS["tiny"].model_copy(update=changes)
    model = transformer_without_weights(config)
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert parameter_shapes(config) == expected
