from pathlib import Path
from typing import Any

import pytest

from model.errors import CheckpointError
from model.interop.huggingface.settings import read_settings
from tests.cases import cases
from tests.marian_folder import write_json

CONFIG = cases(__file__, "config")


def folder_of(path: Path, config: object, generation: object = None) -> Path:
    write_json(path / "config.json", config)
    if generation is not None:
        write_json(path / "generation_config.json", generation)
    return path


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_settings(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_unsupported_option_is_reported_with_its_value(tmp_path: Path) -> None:
    config = CONFIG | {
        "activation_function": "gelu_new",
        "normalize_before": True,
        "encoder_attention_heads": 5,
        "decoder_vocab_size": 60,
        "quantization_config": {"bits": 8},
        "eos_token_id": [0, 1],
    }
    generation = {"num_beams": 12, "do_sample": True, "encoder_no_repeat_ngram_size": 3}
    message = refusal(folder_of(tmp_path, config, generation))
    for fault in (
        'config.json: activation_function = "gelu_new"',
        "config.json: normalize_before = true",
        "config.json: encoder_attention_heads = 5 with d_model = 32",
        "config.json: decoder_vocab_size = 60 with shared embeddings of 50",
        'config.json: quantization_config = {"bits": 8}',
        "config.json: eos_token_id = [0, 1]",
        "generation_config.json: num_beams = 12",
        "generation_config.json: do_sample = true",
        "generation_config.json: encoder_no_repeat_ngram_size = 3",
    ):
        assert fault in message


@pytest.mark.parametrize(("generation", "fault"), cases(__file__, "unsupported_searches"))
def test_unsupported_searches(tmp_path: Path, generation: dict[str, Any], fault: str) -> None:
    assert fault in refusal(folder_of(tmp_path, CONFIG, generation))


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        ("bert", "model_type 'bert' (an encoder without a decoder); attend imports only 'marian'"),
        ("nllb-moe", "model_type 'nllb-moe' (a mixture of experts); attend imports only 'marian'"),
        ("x", "model_type 'x'; attend imports only 'marian' and 'm2m_100'"),
        (["t5"], "model_type ['t5']; attend imports only 'marian' and 'm2m_100'"),
        (None, "no model_type; attend imports only 'marian' and 'm2m_100'"),
    ],
)
def test_other_architectures(tmp_path: Path, kind: object, called: str) -> None:
    assert called in refusal(folder_of(tmp_path, CONFIG | {"model_type": kind}))


def test_a_checkpoint_of_attend_needs_no_import(tmp_path: Path) -> None:
    message = refusal(folder_of(tmp_path, {"format": "attend"}))
    assert "a checkpoint of attend, which needs no import: `attend serve --checkpoint" in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": "wide"}, "'d_model'"),
        ({"pad_token_id": 50}, "pad_token_id = 50, vocabulary of 50"),
        ({"decoder_layers": 0}, "decoder_layers = 0"),
        ({"d_model": 33, "encoder_attention_heads": 3}, "d_model = 33"),
    ],
)
def test_values_that_make_no_model(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert message in refusal(folder_of(tmp_path, CONFIG | changes))


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_json_that_is_not_an_object(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "config.json").write_bytes(text)
    assert "JSON" in refusal(tmp_path)


def test_without_generation_config_the_search_is_in_config_json(tmp_path: Path) -> None:
    legacy = CONFIG | {"num_beams": 6, "max_length": 512, "bad_words_ids": [[49]]}
    settings = read_settings(folder_of(tmp_path, legacy))
    assert (settings.beam_size, settings.length_penalty) == (6, 1.0)
    assert settings.rule.max_target_tokens == 511  # the start token is one of the 512
    assert not settings.rule.force_end
    forced = read_settings(folder_of(tmp_path, legacy | {"forced_eos_token_id": 0}))
    assert forced.rule.force_end


def test_generation_config_replaces_the_options_of_config_json(tmp_path: Path) -> None:
    generation = {"max_new_tokens": 30, "early_stopping": "never", "renormalize_logits": True}
    settings = read_settings(folder_of(tmp_path, CONFIG | {"num_beams": 6}, generation))
    assert settings.beam_size == 1
    assert settings.rule.max_target_tokens == 30
    assert settings.rule.early_stopping == "never"
    assert settings.rule.renormalise
    assert not settings.rule.force_end


def test_a_configuration_as_helsinki_nlp_publishes_them(tmp_path: Path) -> None:
    published = {
        "_num_labels": 3, "activation_dropout": 0.0, "activation_function": "swish",
        "add_bias_logits": False, "add_final_layer_norm": False,
        "architectures": ["MarianMTModel"], "attention_dropout": 0.0, "bad_words_ids": [[58100]],
        "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0, "d_model": 512,
        "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "decoder_layerdrop": 0.0,
        "decoder_layers": 6, "decoder_start_token_id": 58100, "decoder_vocab_size": 58101,
        "dropout": 0.1, "encoder_attention_heads": 8, "encoder_ffn_dim": 2048,
        "encoder_layerdrop": 0.0, "encoder_layers": 6, "eos_token_id": 0,
        "extra_pos_embeddings": 58101, "forced_eos_token_id": 0,
        "id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, "init_std": 0.02,
        "is_encoder_decoder": True, "max_length": 512, "max_position_embeddings": 512,
        "model_type": "marian", "normalize_before": False, "normalize_embedding": False,
        "num_beams": 4, "num_hidden_layers": 6, "pad_token_id": 58100, "scale_embedding": True,
        "share_encoder_decoder_embeddings": True, "static_position_embeddings": True,
        "transformers_version": "4.22.0.dev0", "use_cache": True, "vocab_size": 58101,
    }  # fmt: skip
    generation = {
        "bad_words_ids": [[58100]], "bos_token_id": 0, "decoder_start_token_id": 58100,
        "eos_token_id": 0, "forced_eos_token_id": 0, "max_length": 512, "num_beams": 4,
        "pad_token_id": 58100, "renormalize_logits": True, "transformers_version": "4.32.0.dev0",
    }  # fmt: skip
    settings = read_settings(folder_of(tmp_path, published, generation))
    assert settings.rule.renormalise
    assert settings.rule.force_end
    assert settings.rule.max_target_tokens == 511
    assert (settings.beam_size, settings.activation) == (4, "swish")
