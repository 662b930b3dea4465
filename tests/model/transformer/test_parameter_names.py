import pytest

from model.transformer import parameter_names as names
from model.transformer.config import PRESETS
from model.transformer.transformer import transformer_without_weights


@pytest.mark.parametrize("norm_order", ["pre", "post"])
def test_they_name_every_module_that_has_parameters_and_no_other(norm_order: str) -> None:
    config = PRESETS["tiny"].model_copy(
        update={"norm_order": norm_order, "tie_output": False, "share_embeddings": False}
    )
    model = transformer_without_weights(config)
    expected = {name.rpartition(".")[0] for name, _ in model.named_parameters()}
    found = {names.SOURCE_EMBEDDING, names.TARGET_EMBEDDING, names.OUTPUT}
    n_layers = (config.n_encoder_layers, config.n_decoder_layers)
    for stack, n in zip(names.STACKS, n_layers, strict=True):
        parts = (*names.attentions(stack), names.FEED_FORWARD)
        found |= {
            names.in_layer(stack, layer, name)
            for layer in range(n)
            for part in parts
            for name in part
        }
        if norm_order == "pre":
            found.add(names.final_norm(stack))
    assert found == expected
