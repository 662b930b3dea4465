import base64
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from app.errors import InvalidRequestError
from app.translation.attention_view import AttentionView, AttentionWeights, EncodedWeights
from app.translation.requests import AttentionSelection
from model.transformer.config import TransformerConfig

SHAPE = TransformerConfig(
    d_model=8, d_ff=8, n_heads=4, decoder_n_heads=2, n_encoder_layers=3, n_decoder_layers=2,
    source_vocab_size=9, target_vocab_size=9, max_length=9,
)  # fmt: skip


WRITTEN = TypeAdapter(AttentionWeights)


def view(**fields: Any) -> AttentionView:
    return AttentionView(AttentionSelection(**fields), SHAPE)


def test_the_default_is_the_mean_over_the_heads_of_the_last_layer() -> None:
    weights = np.zeros((2, 2, 1, 2), np.float32)
    weights[1] = [[[0.25, 0.75]], [[0.5, 0.5]]]
    selected = view().show(weights)
    assert (selected.layers, selected.heads, selected.shape) == ([1], "mean", [1, 1, 1, 2])
    assert json.loads(WRITTEN.dump_json(selected))["weights"] == [[[[0.375, 0.625]]]]


def test_base64_has_little_endian_halves_in_row_order() -> None:
    weights = np.arange(8, dtype=np.float32).reshape(2, 2, 1, 2) / np.float32(8)
    selected = view(layers=[0], heads=[1, 0], encoding="base64").show(weights)
    encoded = json.loads(WRITTEN.dump_json(selected))["weights"]
    assert np.frombuffer(base64.b64decode(encoded), "<f2").tolist() == [2 / 8, 3 / 8, 0, 1 / 8]
    assert (selected.dtype, selected.shape) == ("float16", [1, 2, 1, 2])


def test_a_recurrent_decoder_has_no_attention_of_its_own() -> None:
    config = SHAPE.model_copy(update={"autoregression": "ssru"})
    AttentionView(AttentionSelection(kind="cross"), config)
    with pytest.raises(InvalidRequestError) as error:
        AttentionView(AttentionSelection(kind="decoder"), config)
    [fault] = error.value.errors
    assert fault.pointer == "/attention/kind"
    assert "recurrent" in fault.detail


@given(
    kind=st.sampled_from(["encoder", "decoder", "cross"]),
    layers=st.sampled_from(["last", "all", [1, 0]]),
    heads=st.sampled_from(["mean", "all", [1]]),
    n_target=st.integers(1, 4),
    n_source=st.integers(1, 4),
)
def test_as_many_weights_are_announced_as_are_shown(
    kind: str, layers: object, heads: object, n_target: int, n_source: int
) -> None:
    one = view(kind=kind, layers=layers, heads=heads)
    in_encoder = kind == "encoder"
    rows = n_source if in_encoder else n_target
    columns = n_target if kind == "decoder" else n_source
    shape = (3 if in_encoder else 2, 4 if in_encoder else 2, rows, columns)
    selected = one.show(np.ones(shape, np.float32))
    assert one.n_weights(n_target, n_source) == np.prod(selected.shape)


@pytest.mark.parametrize(
    ("fields", "place", "limit"),
    [
        ({"layers": [0, 2]}, "/attention/layers", 2),
        ({"heads": [2]}, "/attention/heads", 2),
        ({"kind": "encoder", "layers": [3]}, "/attention/layers", 3),
        ({"kind": "encoder", "heads": [4]}, "/attention/heads", 4),
    ],
)
def test_indices_beyond_the_model_are_refused(
    fields: dict[str, Any], place: str, limit: int
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        view(**fields)
    [fault] = caught.value.errors
    assert (fault.pointer, fault.detail) == (place, f"Indices should be less than {limit}")


@pytest.mark.parametrize("shape", [(3,), (1, 2), (2, 1, 3, 2), (1, 1, 0, 3), (0,)])
def test_weights_are_written_as_lists(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).random(shape, dtype=np.float32)
    written = TypeAdapter(EncodedWeights).dump_json(EncodedWeights(values, "json"))
    assert json.loads(written) == values.astype(np.float64).round(4).tolist()


def test_the_lists_are_not_all_in_memory() -> None:
    selected = view().show(np.zeros((2, 2, 200, 200), np.float32))
    WRITTEN.dump_json(selected)
    tracemalloc.start()
    try:
        n_written = len(WRITTEN.dump_json(selected))
        assert tracemalloc.get_traced_memory()[1] < 3 * n_written
    finally:
        tracemalloc.stop()
