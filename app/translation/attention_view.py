"""The attention weights of a response: selected, averaged, encoded."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidRequestError
from app.wire.native.answers import AttentionWeights
from app.wire.native.fields import AttentionRequest
from app.wire.native.nested_numbers import NestedNumbers
from model.transformer.config import TransformerConfig

DECIMALS = 4


class AttentionView:
    """A request's selection from a model's attention.

    Raises `InvalidRequestError` for layers or heads that the model does not have.
    """

    def __init__(self, request: AttentionRequest, config: TransformerConfig) -> None:
        in_encoder = request.kind == "encoder"
        n_layers = config.n_encoder_layers if in_encoder else config.n_decoder_layers
        n_heads = config.n_heads if in_encoder else config.n_heads_of_decoder
        self.kind = request.kind
        self._layers = _indices(request.layers, n_layers, "layers")
        self._heads: Literal["mean"] | list[int] = (
            "mean" if request.heads == "mean" else _indices(request.heads, n_heads, "heads")
        )
        self._encoding = request.encoding

    def n_weights(self, n_target: int, n_source: int) -> int:
        """Number of weights in the response for a pair of so many tokens."""
        rows = n_source if self.kind == "encoder" else n_target
        columns = n_target if self.kind == "decoder" else n_source
        n_heads = 1 if self._heads == "mean" else len(self._heads)
        return len(self._layers) * n_heads * rows * columns

    def show(self, weights: NDArray[np.float32]) -> AttentionWeights:
        """Weights of every layer and head [L, H, T, S] → the part of the response."""
        chosen = weights[self._layers]
        chosen = (
            chosen.mean(axis=1, keepdims=True) if self._heads == "mean" else chosen[:, self._heads]
        )
        encoded: str | NestedNumbers
        if self._encoding == "base64":
            encoded = base64.b64encode(chosen.astype("<f2").tobytes()).decode("ascii")
        else:
            encoded = NestedNumbers(chosen, DECIMALS)
        return AttentionWeights(
            kind=self.kind,
            layers=self._layers,
            heads=self._heads,
            shape=list(chosen.shape),
            dtype="float16" if self._encoding == "base64" else "float32",
            encoding=self._encoding,
            weights=encoded,
        )


def _indices(selection: str | Sequence[int], n: int, field: str) -> list[int]:
    """Convert `last`, `all` or indices to indices below n."""
    if selection == "last":
        return [n - 1]
    if selection == "all":
        return list(range(n))
    indices = [int(index) for index in selection]
    if max(indices) >= n:
        raise InvalidRequestError.at(f"/attention/{field}", f"Indices should be less than {n}")
    return indices
