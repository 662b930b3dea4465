from pathlib import Path
from typing import Any

import pytest

from model.errors import CheckpointError
from model.interop.npz.options import SearchSettings, model_options, read_search
from tests.cases import cases
from tests.marian_npz import OPTIONS


def test_every_unsupported_option_is_reported_with_its_value() -> None:
    values = OPTIONS | {
        "type": "amun",
        "dim-emb": 33,
        "enc-depth": 0,
        "transformer-heads": "8",
        "transformer-ffn-activation": "glu",
        "transformer-decoder-autoreg": "average-attention",
        "transformer-no-projection": True,
        "transformer-tied-layers": [1, 1],
        "transformer-train-position-embeddings": True,
        "transformer-postprocess-emb": "nd",
        "transformer-preprocess": "n",
        "tied-embeddings": "yes",
        "right-left": True,
    }
    with pytest.raises(CheckpointError) as caught:
        model_options(values, "x.npz")
    assert str(caught.value) == (
        "x.npz: attend cannot run this model: type = 'amun'; dim-emb = 33; "
        "transformer-heads = '8'; enc-depth = 0; transformer-ffn-activation = 'glu'; "
        "transformer-decoder-autoreg = 'average-attention'; transformer-no-projection = True; "
        "transformer-tied-layers = [1, 1]; transformer-train-position-embeddings = True; "
        "transformer-postprocess-emb = 'nd'; tied-embeddings = 'yes'; right-left = True; "
        "transformer-preprocess, -postprocess and -postprocess-top = 'n', 'an', '' "
        "(without dropout)"
    )


@pytest.mark.parametrize(
    ("operations", "norm_order"),
    [
        (("", "dan", ""), "post"), (("d", "an", "d"), "post"),
        (("n", "da", "n"), "pre"), (("nd", "da", "n"), "pre"),
    ],
)  # fmt: skip
def test_norm_order_and_no_dropout(operations: tuple[str, str, str], norm_order: str) -> None:
    names = ("preprocess", "postprocess", "postprocess-top")
    values = {f"transformer-{name}": ops for name, ops in zip(names, operations, strict=True)}
    assert model_options(OPTIONS | values, "x").norm_order == norm_order


@pytest.mark.parametrize(
    "operations", [("", "da", ""), ("n", "da", ""), ("", "hn", ""), ("r",) * 3]
)
def test_other_orders_are_refused(operations: tuple[str, str, str]) -> None:
    names = ("preprocess", "postprocess", "postprocess-top")
    values = {f"transformer-{name}": ops for name, ops in zip(names, operations, strict=True)}
    with pytest.raises(CheckpointError, match="-postprocess-top = "):
        model_options(OPTIONS | values, "x")


@pytest.mark.parametrize(
    ("tied", "share", "tie"),
    [
        ({"tied-embeddings-all": True}, True, True),
        ({"tied-embeddings-src": True, "tied-embeddings": True}, True, True),
        ({"tied-embeddings-src": True}, True, False),
        ({"tied-embeddings": True}, False, True),
        ({}, False, False),
    ],
)
def test_shared_embeddings(tied: dict[str, bool], share: bool, tie: bool) -> None:
    options = model_options(OPTIONS | {"tied-embeddings-all": False} | tied, "x")
    assert (options.share_embeddings, options.tie_output) == (share, tie)


def test_missing_options_have_marians_defaults() -> None:
    options = model_options({"type": "transformer"}, "x")
    assert (options.d_model, options.n_heads, options.n_encoder_layers) == (512, 8, 1)
    assert (options.d_ff, options.decoder_d_ff, options.activation) == (2048, 2048, "swish")


@pytest.mark.parametrize(
    ("version", "activation"),
    [
        ("v1.12.2 3ea02fd", "quick_gelu"), ("v1.12.3 2020-01-01", "gelu"), ("1.13.0", "gelu"),
        ("v1.9.31", "quick_gelu"), ("v2.0.0", "gelu"), (None, "quick_gelu"), (7, "quick_gelu"),
    ],
)  # fmt: skip
def test_the_version_decides_which_gelu_is_meant(version: object, activation: str) -> None:
    values = OPTIONS | {"transformer-ffn-activation": "gelu", "version": version}
    assert model_options(values, "x").activation == activation


def test_heads_have_to_divide_the_width() -> None:
    with pytest.raises(CheckpointError, match="transformer-heads = 5 with dim-emb = 32"):
        model_options(OPTIONS | {"transformer-heads": 5}, "x")


def write(folder: Path, text: str) -> Path:
    (folder / "decoder.yml").write_text(text, encoding="utf-8")
    return folder


def test_the_search_is_that_of_decoder_yml(tmp_path: Path) -> None:
    assert read_search(tmp_path) == SearchSettings(6, 1.0)
    text = "beam-size: 4\nnormalize: 0.6\nmodels: [a/b.npz]\nvocabs: ['c\\d.yml', /e.yml]\n"
    assert read_search(write(tmp_path, text)) == SearchSettings(
        4, 0.6, ("b.npz",), ("d.yml", "e.yml")
    )


@pytest.mark.parametrize(("text", "message"), cases(__file__, "unsupported_search_options"))
def test_unsupported_search_options(tmp_path: Path, text: str, message: str) -> None:
    values: dict[str, Any] = {}
    with pytest.raises(CheckpointError) as caught:
        values["search"] = read_search(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
