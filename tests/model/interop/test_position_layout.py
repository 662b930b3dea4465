import pytest
import torch

from model.interop.position_layout import to_halves, to_interleaved
from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel


def weights_of(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: tensor.detach() for name, tensor in model.named_parameters()}


@pytest.mark.parametrize("norm_order", ["post", "pre"])
@pytest.mark.parametrize("shared", [True, False])
@torch.inference_mode()
def test_both_layouts_give_equal_logits(
    make_model: MakeModel, norm_order: str, shared: bool
) -> None:
    changes = {
        "norm_order": norm_order, "share_embeddings": shared, "tie_output": shared,
        "output_bias": True,
    }  # fmt: skip
    model = make_model(**changes)
    other = make_model(seed=9, position_layout="halves", **changes)
    permuted = to_halves(weights_of(model), model.config.d_model)
    other.load_state_dict(permuted, strict=False)
    source, target = torch.randint(3, 12, (2, 4, 9)).unbind()
    expected = model(source, target)
    assert (other(source, target) - expected).abs().max() <= 1e-5
    other.load_state_dict(weights_of(model), strict=False)
    assert (other(source, target) - expected).abs().max() > 1e-2


def test_the_round_trip_is_bit_exact(make_model: MakeModel) -> None:
    weights = weights_of(make_model(norm_order="pre", tie_output=False, output_bias=True))
    halves = to_halves(weights, 16)
    back = to_interleaved(halves, 16)
    assert back.keys() == weights.keys()
    for name, tensor in weights.items():
        assert torch.equal(back[name], tensor), name
    assert sum(not torch.equal(halves[name], weights[name]) for name in weights) > 50


def test_sines_come_first_by_hand() -> None:
    row = torch.tensor([[0.0, 1.0, 2.0, 3.0]])
    halves = to_halves({"source_embedding.weight": row}, 4)["source_embedding.weight"]
    assert halves.tolist() == [[0.0, 2.0, 1.0, 3.0]]
