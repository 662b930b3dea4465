"""The attention weights of a response: selected, averaged, encoded."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic_core import CoreSchema, core_schema

from app.errors import InvalidRequestError
from app.translation.requests import AttentionSelection
from model.engine.explanations import AttentionKind
from model.transformer.config import TransformerConfig

DECIMALS = 4

Lists: TypeAlias = Iterator["Lists"] | list[float]


class EncodedWeights:
    """Weights as base64, or as an array whose lists are made a row at a time when it is written.

    As lists of Python's numbers, an array would take eight times the memory.
    """

    def __init__(self, weights: NDArray[np.float32], encoding: Literal["json", "base64"]) -> None:
        self._content: str | NDArray[np.float32] = weights
        if encoding == "base64":
            self._content = base64.b64encode(weights.astype("<f2").tobytes()).decode("ascii")

    def written(self) -> str | Lists:
        """Return what is written: base64, or nested iterators over lists, rounded."""
        return self._content if isinstance(self._content, str) else _lists(self._content)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> CoreSchema:
        write = core_schema.plain_serializer_function_ser_schema(cls.written, when_used="json")
        return core_schema.is_instance_schema(cls, serialization=write)

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}


def _lists(values: NDArray[np.float32]) -> Lists:
    if values.ndim > 1:
        return (_lists(one) for one in values)
    rounded: list[float] = values.astype(np.float64).round(DECIMALS).tolist()
    return rounded


@dataclass(slots=True)
class AttentionWeights:
    """Weights [layers, heads, target tokens, source tokens]; each row sums to 1.

    For `encoder`, rows and columns are source tokens. For `decoder`, they are target tokens, and
    column s is the position whose input was token s − 1.
    """

    kind: AttentionKind
    layers: list[int]
    heads: Literal["mean"] | list[int]
    shape: list[int]
    dtype: Literal["float16", "float32"]
    encoding: Literal["json", "base64"]
    weights: EncodedWeights = field(
        metadata={
            "description": "base64: little-endian float16, row-major. "
            "json: nested lists, 4 decimals."
        }
    )


def check_kind(kind: AttentionKind, config: TransformerConfig) -> None:
    """Raise `InvalidRequestError` for an attention that the model does not have."""
    if kind == "decoder" and config.is_recurrent:
        detail = "This model's decoder is recurrent, without attention; select cross or encoder"
        raise InvalidRequestError.at("/attention/kind", detail)


class AttentionView:
    """A request's selection from a model's attention.

    Raises `InvalidRequestError` for layers or heads that the model does not have.
    """

    def __init__(self, request: AttentionSelection, config: TransformerConfig) -> None:
        check_kind(request.kind, config)
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
        """Return the number of weights in the response for a pair with these token counts."""
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
        return AttentionWeights(
            kind=self.kind,
            layers=self._layers,
            heads=self._heads,
            shape=list(chosen.shape),
            dtype="float16" if self._encoding == "base64" else "float32",
            encoding=self._encoding,
            weights=EncodedWeights(chosen, self._encoding),
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
