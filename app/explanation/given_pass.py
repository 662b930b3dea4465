"""Numbers of one pass over a sentence and its translation: a row of attention, vectors."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidRequestError
from app.explanation.answer import (
    AttentionColumn,
    ComputedAttention,
    LayerActivations,
    LikelyLogit,
    ShownActivation,
)
from app.scheduling.fair_queue import Caller
from app.translation import answers
from app.translation.attention_view import check_kind
from app.translation.language_paths import Step
from app.translation.segments.segment import Segment
from model.decoding.trace import N_LIKELIEST
from model.engine.explanations import (
    Activation,
    AttentionKind,
    AttentionRow,
    LayerRow,
    Projections,
    StackName,
)

DIGITS = 6
"""Significant digits of the numbers in a vector."""


@dataclass(frozen=True, slots=True)
class AttentionQuery:
    """A row of attention to show in numbers; `layer` None is the last."""

    kind: AttentionKind
    layer: int | None
    head: int
    token: int


@dataclass(frozen=True, slots=True)
class ActivationQuery:
    """A position of a stack whose vectors to show; `layer` None is the last."""

    stack: StackName
    layer: int | None
    token: int


class GivenPass:
    """A pass over a sentence and its translation, whose tokens are in `explained`."""

    def __init__(
        self, step: Step, caller: Caller, segment: Segment, explained: answers.Segment
    ) -> None:
        self._caller = caller
        self._config = step.model.transformer_config
        self._codec = step.reading.codec
        self._engines = step.model.scheduler.explanations
        self._ids = segment.source_ids, [token.id for token in segment.renderings[0].tokens]
        self._source = [token.piece for token in explained.source_tokens]
        self._target = [token.piece for token in explained.target_tokens]

    async def attention(self, query: AttentionQuery) -> ComputedAttention:
        """Equation 1 for a row. Raises `InvalidRequestError`."""
        in_encoder, config = query.kind == "encoder", self._config
        check_kind(query.kind, config)
        n_layers = config.n_encoder_layers if in_encoder else config.n_decoder_layers
        n_heads = config.n_heads if in_encoder else config.n_heads_of_decoder
        layer = n_layers - 1 if query.layer is None else query.layer
        rows = self._source if in_encoder else self._target
        _check(
            "attention",
            layer=(layer, n_layers),
            head=(query.head, n_heads),
            token=(query.token, len(rows)),
        )
        columns = self._fed() if query.kind == "decoder" else self._source
        at = AttentionRow(query.kind, layer, query.token)
        projections = await self._engines.project(self._ids, at, self._caller)
        return _computed(replace(query, layer=layer), rows[query.token], projections, columns)

    async def activations(self, query: ActivationQuery) -> LayerActivations:
        """The vectors of a position. Raises `InvalidRequestError`."""
        config, in_encoder = self._config, query.stack == "encoder"
        n_layers = config.n_encoder_layers if in_encoder else config.n_decoder_layers
        layer = n_layers - 1 if query.layer is None else query.layer
        pieces = self._source if in_encoder else self._fed()
        _check("activations", layer=(layer, n_layers), token=(query.token, len(pieces)))
        at = LayerRow(query.stack, layer, query.token)
        found = await self._engines.activations(self._ids, at, self._caller)
        result = LayerActivations(
            stack=query.stack,
            layer=layer,
            token=query.token,
            piece=pieces[query.token],
            embedding_scale=math.sqrt(config.d_model) if config.scale_embedding else 1.0,
            vectors=[
                ShownActivation(one.sublayer, one.name, _numbers(one.vector))
                for one in found
                if one.name != "logits"
            ],
        )
        if not in_encoder:
            self._add_logits(result, found[-1])
        return result

    def _add_logits(self, activations: LayerActivations, output: Activation) -> None:
        logits = output.vector.astype(np.float64)
        highest = logits.max()
        log_sum_exp = float(highest + np.log(np.exp(logits - highest).sum()))
        best = np.argsort(-logits, kind="stable")[:N_LIKELIEST]
        activations.log_sum_exp = log_sum_exp
        activations.logits = [
            LikelyLogit(
                self._codec.piece(int(token)),
                float(logits[token]),
                math.exp(logits[token] - log_sum_exp),
            )
            for token in best
        ]

    def _fed(self) -> list[str]:
        return [self._codec.piece(self._config.start_id), *self._target[:-1]]


def _check(part: str, **found: tuple[int, int]) -> None:
    for field, (value, n) in found.items():
        if value >= n:
            raise InvalidRequestError.at(f"/{part}/{field}", f"Should be less than {n}")


def _computed(
    at: AttentionQuery, piece: str, projections: Projections, pieces: list[str]
) -> ComputedAttention:
    """Equation 1 with numbers; the weights are the engine's own."""
    query = projections.query[at.head, 0]
    keys, values, weights = (
        heads[at.head] for heads in (projections.keys, projections.values, projections.weights)
    )
    products = keys.astype(np.float64) @ query
    scaled = products / math.sqrt(len(query))
    return ComputedAttention(
        kind=at.kind,
        layer=at.layer or 0,
        head=at.head,
        token=at.token,
        piece=piece,
        d_k=len(query),
        query=_numbers(query),
        columns=[
            AttentionColumn(
                piece=column,
                key=_numbers(keys[index]),
                value=_numbers(values[index]),
                product=float(products[index]),
                scaled=float(scaled[index]),
                seen=bool(projections.seen[index]),
                weight=float(weights[index]),
            )
            for index, column in enumerate(pieces)
        ],
        output=_numbers(weights.astype(np.float64) @ values),
    )


def _numbers(vector: NDArray[np.floating]) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in vector]
