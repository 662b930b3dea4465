from itertools import chain

import pytest

from model.interop.huggingface.marian_weights import OUTSIDE_LAYERS, final_norm_names, layer_names
from model.transformer import parameter_names as names
from tests.model.make_model import MakeModel


@pytest.mark.parametrize("order", ["pre", "post"])
def test_every_parameter_has_one_name_on_each_side(make_model: MakeModel, order: str) -> None:
    model = make_model(norm_order=order)
    ours = {name for name, _ in model.named_parameters() if name.startswith(tuple(names.STACKS))}
    pairs = list(chain(layer_names(model.config), final_norm_names(model.config)))
    assert {one for one, _ in pairs} == ours
    assert len(dict(pairs)) == len({other for _, other in pairs}) == len(pairs)
    assert not OUTSIDE_LAYERS & {other for _, other in pairs}


def test_names_are_those_of_transformers(make_model: MakeModel) -> None:
    table = dict(layer_names(make_model().config))
    assert len(set(table.values())) == len(table)
    for expected in (
        "model.encoder.layers.1.self_attn.out_proj.weight",
        "model.decoder.layers.2.encoder_attn.q_proj.bias",
        "model.decoder.layers.0.encoder_attn_layer_norm.weight",
        "model.decoder.layers.0.fc2.bias",
        "model.encoder.layers.0.final_layer_norm.weight",
    ):
        assert expected in table.values()
