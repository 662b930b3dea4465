import pytest
import torch
from torch import nn

from model.training.update import muon
from model.training.update.muon import Muon, orthogonalised


@pytest.mark.parametrize("shape", [(16, 16), (8, 32), (32, 8), (1, 9)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_singular_values_come_near_one(shape: tuple[int, int], dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    matrix = torch.randn(shape)
    found = orthogonalised(matrix, dtype).float()
    assert found.shape == shape
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.4
    assert values.max() < 1.3
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    core = left.T @ found @ right.T
    assert (core - core.diag().diag()).abs().max() < 0.05


@pytest.mark.parametrize("shape", [(8, 32), (32, 8), (24, 100)])
def test_the_gram_form_for_wide_matrices_is_equal(shape: tuple[int, int]) -> None:
    torch.manual_seed(3)
    matrix = torch.randn(shape) * torch.logspace(-3, 0, shape[1])
    wide = matrix if shape[0] < shape[1] else matrix.T
    expected = muon._iterate(wide / wide.norm())
    found = orthogonalised(matrix, torch.float32)
    torch.testing.assert_close(
        found if shape[0] < shape[1] else found.T, expected, atol=1e-4, rtol=1e-4
    )


def test_a_zero_matrix_stays_zero() -> None:
    assert not orthogonalised(torch.zeros(4, 6), torch.float32).any()


def test_it_is_torchs() -> None:
    torch.manual_seed(2)
    ours, theirs = ([nn.Parameter(torch.ones(6, 4)), nn.Parameter(torch.ones(3, 5))] for _ in "ab")
    optimizer = Muon(ours, weight_decay=0.1)
    oracle = torch.optim.Muon(theirs, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for part in (optimizer, oracle):
        part.param_groups[0]["lr"] = 0.02
    for _ in range(4):
        for left, right in zip(ours, theirs, strict=True):
            left.grad = torch.randn_like(left)
            right.grad = left.grad.clone()
        optimizer.step()
        oracle.step()
    for left, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(left, right)
