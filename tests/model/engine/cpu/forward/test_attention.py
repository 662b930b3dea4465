import numpy as np
import pytest

from model.engine.cpu.forward.attention import attend, record_weights
from tests.model.engine.cpu.matrices import normal


@pytest.mark.parametrize("n_positions", [1, 5, 16, 17, 40])
@pytest.mark.parametrize(("n_heads", "d_k"), [(4, 4), (3, 12), (2, 36), (1, 64), (2, 80), (1, 6)])
def test_attention_over_given_positions(n_heads: int, d_k: int, n_positions: int) -> None:
    d_model, stride, base, width = n_heads * d_k, n_heads * d_k + 3, 5, 64
    query = normal(3, stride, seed=1, scale=3)
    keys, values = normal(60, stride, seed=2), normal(60, stride, seed=3)
    positions = np.random.default_rng(4).integers(0, 59, (1, n_positions + 2))
    weights = np.full((n_heads, width), 9, np.float32)
    out = np.full((3, stride), 7, np.float32)
    attend(n_heads, d_model, query, stride, keys, values, base, stride, positions, 2, n_positions,
           weights, out, 2 * stride)  # fmt: skip

    record = np.zeros((2, n_heads, 3, n_positions), np.float32)
    record_weights(n_heads, n_positions, weights, record, 1, 2)
    starts = base + positions[0, 2:, None] * stride + np.arange(d_model)
    k, v = (x.ravel()[starts].astype(np.float64) for x in (keys, values))
    for head in range(n_heads):
        columns = slice(head * d_k, (head + 1) * d_k)
        scores = k[:, columns] @ query[1, columns].astype(np.float64) / np.sqrt(d_k)
        softmax = np.exp(scores - scores.max())
        softmax /= softmax.sum()
        np.testing.assert_allclose(record[1, head, 2], softmax, rtol=2e-5, atol=1e-7)
        np.testing.assert_allclose(out[2, columns], softmax @ v[:, columns], rtol=1e-5, atol=1e-5)
    assert (out[:2] == 7).all()
    assert (out[2, d_model:] == 7).all()
    assert not record[0].any()
    assert not record[1, :, :2].any()


def test_nan_at_a_position_that_is_not_named_does_not_matter() -> None:
    keys, values = normal(20, 16, seed=2), normal(20, 16, seed=3)
    positions = np.array([[3, 7, 4]])
    outs = []
    for spoilt in (0.0, np.nan):
        keys[5], values[5] = spoilt, spoilt
        out = np.zeros((1, 16), np.float32)
        attend(2, 16, normal(1, 16), 0, keys, values, 0, 16, positions, 0, 3,
               np.zeros((2, 32), np.float32), out, 0)  # fmt: skip
        outs.append(out)
    np.testing.assert_array_equal(outs[0], outs[1])
    values[7] = np.nan
    attend(2, 16, normal(1, 16), 0, keys, values, 0, 16, positions, 0, 3,
           np.zeros((2, 32), np.float32), out, 0)  # fmt: skip
    assert np.isnan(out).all()
