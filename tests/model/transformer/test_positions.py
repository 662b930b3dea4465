import math

import numpy as np
import pytest

from model.transformer.positions import sinusoidal_positions


def test_positions_by_hand() -> None:
    # D = 4: angles pos / 10000^(0/4) = pos and pos / 10000^(2/4) = pos / 100.
    table = sinusoidal_positions(3, 4, "interleaved")
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.841471, 0.540302, 0.00999983, 0.99995],
        [0.909297, -0.416147, 0.0199987, 0.9998],
    ]
    np.testing.assert_allclose(table, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("position", "i"), [(1, 0), (7, 3), (511, 255), (300, 100)])
def test_positions_follow_the_formula(position: int, i: int) -> None:
    d_model = 512
    angle = position / 10_000 ** (2 * i / d_model)
    table = sinusoidal_positions(512, d_model, "interleaved")
    assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
    assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_marians_positions_by_its_formula() -> None:
    # numTimescales = D / 2; angle = pos · exp(−i · ln 10000 / (numTimescales − 1)); sines first.
    d_model, position = 8, 5
    angles = [position * math.exp(-i * math.log(10_000) / 3) for i in range(4)]
    expected = [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]
    table = sinusoidal_positions(6, d_model, "marian")
    assert table[position].tolist() == pytest.approx(expected, abs=1e-6)
    assert np.isfinite(sinusoidal_positions(3, 2, "marian")).all()


def test_the_layouts_are_permutations_of_each_other() -> None:
    interleaved = sinusoidal_positions(20, 8, "interleaved")
    halves = sinusoidal_positions(20, 8, "halves")
    assert np.array_equal(halves, np.hstack((interleaved[:, 0::2], interleaved[:, 1::2])))
    assert not np.array_equal(halves, interleaved)
