from typing import Any

import pytest

from model.checkpoint.parameters import describe, parameter_shapes
from model.transformer.config import PRESETS, TransformerConfig
from model.transformer.transformer import transformer_without_weights

UNTIED: dict[str, Any] = {"share_embeddings": False, "tie_output": False, "source_vocab_size": 50}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_order": "pre"},
        {"output_bias": False},
        {"output_bias": True},
        {"tie_output": False},
        UNTIED,
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


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_order": "pre"},
        {"output_bias": True},
        {"tie_output": False},
        {"share_embeddings": False, "target_vocab_size": 100},
        {"share_embeddings": False, "tie_output": False, "output_bias": True},
        {"n_encoder_layers": 1, "n_decoder_layers": 3},
        {"decoder_n_heads": 2, "decoder_d_ff": 96, "scale_embedding": False},
        {"autoregression": "ssru"},
    ],
)
def test_no_parameter_is_forgotten_or_counted_twice(changes: dict[str, Any]) -> None:
    config = TransformerConfig.model_validate(PRESETS["tiny"].model_dump() | changes)
    n_parameters = transformer_without_weights(config).n_parameters()
    assert sum(part.n_parameters * part.copies for part in describe(config)) == n_parameters


def test_the_decoder_layer_of_figure_1() -> None:
    parts = describe(PRESETS["base"])
    components = [part.component for part in parts if part.block == "Decoder layer 1 … 6"]
    assert list(dict.fromkeys(components)) == [
        "Masked Multi-Head Attention", "Add & Norm", "Multi-Head Attention", "Feed Forward",
    ]  # fmt: skip
    first, *_ = (part for part in parts if part.component == "Feed Forward")
    assert first.tensors == {"W_1": (512, 2048), "b_1": (2048,)}
    assert first.n_parameters == 512 * 2048 + 2048


def test_a_recurrent_decoder_has_an_ssru_in_its_place() -> None:
    config = PRESETS["base"].model_copy(update={"autoregression": "ssru"})
    parts = describe(config)
    first, second = (part for part in parts if part.component == "SSRU")
    assert first.tensors == {"W": (512, 512)}
    assert second.tensors == {"W_f": (512, 512), "b_f": (512,)}
    assert not any("Masked" in part.component for part in parts)


def test_one_layer_is_not_called_a_range() -> None:
    config = PRESETS["tiny"].model_copy(update={"n_encoder_layers": 1})
    blocks = {part.block for part in describe(config)}
    assert "Encoder layer 1" in blocks


def test_a_decoder_of_other_widths_is_described_with_them() -> None:
    changes = {"decoder_n_heads": 2, "decoder_d_ff": 96, "scale_embedding": False}
    config = PRESETS["tiny"].model_copy(update=changes)
    parts = describe(config)
    noted = {(part.block.split()[0], part.note) for part in parts if "W^Q" in part.tensors}
    assert ("Encoder", "self; h = 4, d_k = 8") in noted
    assert ("Decoder", "cross; h = 2, d_k = 16") in noted
    shapes = {part.tensors["W_1"] for part in parts if "W_1" in part.tensors}
    assert shapes == {(32, 64), (32, 96)}
    assert not [part for part in parts if part.note == "times √d_model"]
