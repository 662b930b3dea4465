from typing import Any

import numpy as np
import pytest
import torch

from model.engine.cpu.forward.encoder import embed, encode
from model.engine.cpu.forward.workspace import make_workspace
from tests.model.engine.cpu.running import pack_model
from tests.model.make_model import MakeModel

SOURCES = [[5, 6, 7, 1], [4, 1], [3, 8, 9, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1], [1]]


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"norm_order": "pre", "activation": "gelu"}, {"activation": "swish", "d_ff": 90},
        {"d_model": 72, "n_heads": 2, "norm_order": "pre"}, {"d_model": 18, "n_heads": 3},
    ],
)  # fmt: skip
def test_encoding_is_independent_of_others(make_model: MakeModel, changes: dict[str, Any]) -> None:
    model = make_model(**changes)
    weights = pack_model(model, "float32")
    ids = np.array([token for source in SOURCES for token in source])
    bounds = np.cumsum([0, *map(len, SOURCES)])
    work = make_workspace(weights, len(ids))
    encode(weights, ids, bounds, work, work.no_record)
    d_model = model.config.d_model
    together = work.x.copy()
    for start, end, source in zip(bounds, bounds[1:], SOURCES, strict=False):
        with torch.no_grad():
            expected = model.encode(torch.tensor([source])).states[0].numpy()
        np.testing.assert_allclose(together[start:end, :d_model], expected, atol=1e-4)
        own = np.array([0, len(source)])
        encode(weights, np.array(source), own, work, work.no_record)
        alone = work.x[: len(source), :d_model]
        assert alone.tobytes() == together[start:end, :d_model].tobytes()


@pytest.mark.parametrize("scaled", [True, False])
def test_embeddings_are_scaled_and_positioned(make_model: MakeModel, scaled: bool) -> None:
    model = make_model(scale_embedding=scaled, d_model=18, n_heads=3)
    weights = pack_model(model, "float32")
    tokens = range(model.config.target_vocab_size)
    out = np.full((len(tokens), 64), np.nan, np.float32)
    for token in tokens:
        embed(weights.target_embedding, token, weights.positions, 3, weights.shape, out, token)
    with torch.no_grad():
        embedded = model.target_embedding(torch.tensor([tokens]).T)
        expected = model.positions(embedded, first=3)[:, 0].numpy()
    np.testing.assert_allclose(out[:, :18], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(out[:, 18:20], 0)  # which int8 reads, four at a time
