from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from app.wire.native.answers import AttentionWeights
from app.wire.native.nested_numbers import NestedNumbers


def weights(values: np.ndarray) -> AttentionWeights:
    return AttentionWeights(
        kind="cross",
        layers=[0],
        heads="mean",
        shape=list(values.shape),
        dtype="float32",
        encoding="json",
        weights=NestedNumbers(values, 4),
    )


@pytest.mark.parametrize("shape", [(3,), (1, 2), (2, 1, 3, 2), (1, 1, 0, 3), (0,)])
def test_it_is_written_as_lists(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).random(shape, dtype=np.float32)
    written = json.loads(weights(values).model_dump_json())["weights"]
    assert written == values.astype(np.float64).round(4).tolist()


def test_its_lists_are_not_all_in_memory() -> None:
    values = np.zeros((4, 4, 100, 100), np.float32)
    one = weights(values)
    one.model_dump_json()
    tracemalloc.start()
    try:
        n_written = len(one.model_dump_json())
        assert tracemalloc.get_traced_memory()[1] < 3 * n_written
    finally:
        tracemalloc.stop()
