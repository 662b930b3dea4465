from pathlib import Path

import pytest
import torch

from model.errors import CheckpointError
from model.interop.foreign_model import check_tensors
from tests.model.make_model import MakeModel

FILE = Path("x.safetensors")


def test_the_tensors_of_a_model_pass_in_any_floating_type(make_model: MakeModel) -> None:
    model = make_model()
    for kind in (torch.float32, torch.bfloat16):
        tensors = {name: one.detach().to(kind) for name, one in model.named_parameters()}
        check_tensors(FILE, model.config, tensors)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (None, "is missing"),
        (torch.zeros(3), r"has shape \[3\]"),
        (torch.tensor(float("nan")).expand(16), "NaN or infinity"),
        (torch.zeros(16, dtype=torch.int64), "not floating-point"),
    ],
)
def test_a_difference_is_named(
    make_model: MakeModel, fault: torch.Tensor | None, message: str
) -> None:
    model = make_model()
    tensors = {name: one.detach() for name, one in model.named_parameters()}
    name = next(name for name, one in tensors.items() if one.shape == (16,))
    if fault is None:
        del tensors[name]
    else:
        tensors[name] = fault
    with pytest.raises(CheckpointError, match=message) as caught:
        check_tensors(FILE, model.config, tensors)
    assert str(caught.value).startswith(f"{FILE}: tensor '{name}'")
