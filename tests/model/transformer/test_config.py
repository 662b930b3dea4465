import math

import pytest
from pydantic import ValidationError

from model.errors import ConfigError
from model.transformer.config import PRESETS, TransformerConfig


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"d_model": 10, "n_heads": 4}, "d_model 10 is not divisible by n_heads 4"),
        ({"decoder_n_heads": 7}, "d_model 512 is not divisible by decoder_n_heads 7"),
        ({"decoder_d_ff": 0}, "'decoder_d_ff': input should be greater than 0"),
        ({"d_model": 9, "n_heads": 3}, "d_model 9 is odd; sinusoidal positions need pairs"),
        ({"source_vocab_size": 10},
         "share_embeddings needs source_vocab_size equal to target_vocab_size"),
        ({"pad_id": 37_000}, "pad_id 37000 is outside the vocabulary of 37000"),
        ({"eos_id": 40_000}, "eos_id 40000 is outside the vocabulary of 37000"),
        ({"start_id": 40_000}, "start_id 40000 is outside the vocabulary of 37000"),
        ({"share_embeddings": False, "source_vocab_size": 5, "start_id": 5},
         "start_id 5 is outside the vocabulary of 5"),
        ({"pad_id": 1}, "eos_id and pad_id must differ"),
        ({"d_modle": 3}, "unknown key 'd_modle'"),
        ({"d_model": "512"}, "'d_model': input should be a valid integer"),
        ({"d_model": 512.5}, "'d_model': input should be a valid integer"),
        ({"tie_output": 1}, "'tie_output': input should be a valid boolean"),
        ({"dropout": 1.0}, "'dropout': input should be less than 1"),
        ({"dropout": math.nan}, "'dropout': input should be"),
        ({"norm_order": "both"}, "'norm_order': input should be 'post' or 'pre'"),
        ({"activation": "tanh"}, "'activation': input should be"),
        ({"position_layout": "x"}, "'position_layout': input should be"),
        ({"pad_id": -1}, "'pad_id': input should be greater than or equal to 0"),
        *(({name: 0}, f"'{name}': input should be greater than 0")
          for name in ("d_model", "d_ff", "n_heads", "n_encoder_layers", "n_decoder_layers",
                       "source_vocab_size", "target_vocab_size", "max_length")),
        ([], "input should be"),
        (None, "input should be"),
    ],
)  # fmt: skip
def test_bad_values_are_refused_by_name(values: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TransformerConfig.parse(values, "here.json")
    assert str(caught.value).lower().startswith(f"here.json: {message}".lower())
    assert "\n" not in str(caught.value)


def test_all_faults_are_reported_on_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        TransformerConfig.parse({"d_ff": -1, "a\nb": 1}, "here.json")
    message = str(caught.value)
    assert "'d_ff'" in message
    assert r"unknown key 'a\nb'" in message
    assert "\n" not in message


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        PRESETS["base"].d_model = 1  # type: ignore[misc]


def test_json_round_trip() -> None:
    for config in PRESETS.values():
        assert TransformerConfig.model_validate_json(config.model_dump_json()) == config


def test_defaults_are_the_papers_base() -> None:
    base = TransformerConfig()
    assert base == PRESETS["base"]
    assert (base.d_model, base.d_ff, base.n_heads, base.d_k) == (512, 2048, 8, 64)
    assert (base.n_encoder_layers, base.n_decoder_layers, base.dropout) == (6, 6, 0.1)
    assert (base.norm_order, base.activation, base.tie_output) == ("post", "relu", True)


def test_the_start_token_may_be_padding() -> None:
    assert TransformerConfig(start_id=0, pad_id=0).start_id == 0


def test_the_decoder_has_the_shape_of_the_encoder_by_default() -> None:
    same = TransformerConfig(n_heads=4, d_ff=64)
    assert (same.n_heads_of_decoder, same.d_ff_of_decoder) == (4, 64)
    other = TransformerConfig(n_heads=4, d_ff=64, decoder_n_heads=2, decoder_d_ff=32)
    assert (other.n_heads_of_decoder, other.d_ff_of_decoder) == (2, 32)
