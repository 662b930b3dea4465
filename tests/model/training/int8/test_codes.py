import math

import pytest
import torch

from model.training.int8 import codes
from model.training.int8.codes import Columns, Rows, outer_sum


def test_by_hand() -> None:
    matrix = torch.tensor([[127.0, -63.6], [0.0, 2.54]])
    rows = Rows.of(matrix)
    assert rows.codes.tolist() == [[127, -64], [0, 127]]
    torch.testing.assert_close(rows.scales, torch.tensor([1.0, 0.02]))
    columns = Columns.of(matrix)
    assert columns.codes.tolist() == [[127, -127], [0, 5]]
    torch.testing.assert_close(columns.scales, torch.tensor([1.0, 63.6 / 127]))


def test_columns_are_the_rows_of_the_transposed() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(37, 20)
    columns, rows = Columns.of(matrix), Rows.of(matrix.T)
    assert torch.equal(columns.codes, rows.codes.T)
    assert torch.equal(columns.scales, rows.scales)


def test_zeros_have_zero_codes_and_scales() -> None:
    matrix = torch.zeros(3, 4)
    for coded in (Rows.of(matrix), Columns.of(matrix), Rows.of(matrix).as_columns()):
        assert not coded.codes.any()
        assert not coded.scales.any()


def test_other_scales_keep_the_values() -> None:
    torch.manual_seed(1)
    rows = Rows.of(torch.randn(50, 8))
    values = rows.scales[:, None] * rows.codes
    columns = rows.as_columns()
    assert (columns.codes * columns.scales - values).abs().max() <= columns.scales.max() / 2 + 1e-6


@pytest.mark.parametrize(("m", "k"), [(8, 24), (24, 8), (16, 16)])
@pytest.mark.parametrize("block", [7, 4096])
def test_outer_sums_are_products(
    m: int, k: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_BLOCK", block)
    torch.manual_seed(2)
    sizes = torch.logspace(-3, 0, 90)[
        :, None
    ]  # like gradients of tokens, whose scales differ as much
    left, right = sizes * torch.randn(90, m), torch.randn(90, k)
    found, expected = outer_sum(Rows.of(left), Rows.of(right)), left.T @ right
    assert found.shape == (m, k)
    assert (found - expected).norm() < 0.02 * expected.norm()


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_a_number_that_is_not_finite_spoils_an_outer_sum(value: float, side: int) -> None:
    sides = [torch.ones(5, 3), torch.ones(5, 4)]
    sides[side][2, 1] = value
    assert outer_sum(Rows.of(sides[0]), Rows.of(sides[1])).isnan().all()
