"""One sentence's search and attention, with the numbers that POST /explain answers."""

from __future__ import annotations

import asyncio
import base64
import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidRequestError, TextTooLongError
from app.translation.language_path import Leg
from app.translation.segmented_text import Passage, Stretch
from app.wire.native.answers import Segment, Usage
from app.wire.native.explain_answer import (
    AttentionColumn,
    ComputedAttention,
    EndedBeam,
    ExplainAnswer,
    LikelyToken,
    LiveBeam,
    PositionTable,
    ShownSearch,
    ShownStep,
)
from app.wire.native.explain_request import ExaminedAttention, ExplainRequest
from model.decoding.hypothesis import SearchOptions
from model.decoding.trace import SearchTrace
from model.engine.protocol import Projections
from model.transformer.positions import sinusoidal_positions

MAX_SOURCE_TOKENS = 128
"""Of a sentence that is explained: its search runs between two steps of an engine, whose other
sentences wait for it."""

DIGITS = 6
"""Significant digits of the numbers in a vector."""


class SearchView:
    """Searches a sentence with one model, to be looked at."""

    def __init__(self, leg: Leg) -> None:
        self._leg = leg
        self._config = leg.model.transformer_config
        self._codec = leg.model.codec
        self._scheduler = leg.model.scheduler
        self._explainer = leg.model.explainer

    async def explain(self, request: ExplainRequest) -> ExplainAnswer:
        """The search that POST /translate would make, and what else is asked for.

        Raises `InvalidRequestError`, `TextTooLongError`, and as `Scheduler.trace`.
        """
        leg = self._leg
        passage = Passage(
            request.text,
            leg.direction,
            self._codec,
            self._config.max_length,
            "sentences" if request.split_sentences else "off",
            glossary=leg.glossary,
        )
        while True:
            stretch = _only_stretch(passage)
            options = leg.model.options_for(stretch, leg.options)
            trace = await self._scheduler.trace(stretch.source_ids, options)
            passage.settle(stretch, trace.hypotheses)
            if not passage.pending:
                break
        [[segment]] = await self._explainer.explain(
            [passage], leg.direction, view=None, alignment=False, max_weights=0
        )
        attention = None
        if request.attention:
            attention = await self._attention(request.attention, stretch, segment)
        log_probs = stretch.best.log_probs
        return ExplainAnswer(
            model=leg.model.name,
            source=leg.direction[0],
            target=leg.direction[1],
            text=passage.answer().after,
            score=passage.score(),
            confidence=math.exp(math.fsum(log_probs) / len(log_probs)),
            segment=segment,
            search=await asyncio.to_thread(self._shown, stretch, trace, options),
            attention=attention,
            positions=self._positions(request.positions) if request.positions else None,
            usage=Usage(
                characters=len(request.text),
                source_tokens=len(stretch.source_ids),
                target_tokens=len(log_probs),
            ),
        )

    def _shown(self, stretch: Stretch, trace: SearchTrace, options: SearchOptions) -> ShownSearch:
        piece = cache(self._codec.piece)

        def shown(log_prob: float) -> float:
            return round(log_prob, DIGITS)

        return ShownSearch(
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            max_target_tokens=options.token_limit(len(stretch.source_ids), self._config.max_length),
            steps=[
                ShownStep(
                    beams=[
                        LiveBeam(
                            parent=beam.parent,
                            piece=None if beam.token is None else piece(beam.token),
                            log_prob=shown(beam.log_prob),
                            likeliest=[
                                LikelyToken(
                                    piece=piece(one.token),
                                    log_prob=shown(one.log_prob),
                                    probability=shown(math.exp(one.log_prob)),
                                )
                                for one in beam.likeliest
                            ],
                        )
                        for beam in step.beams
                    ],
                    ended=[
                        EndedBeam(
                            beam=one.beam,
                            text=self._codec.decode(one.hypothesis.ids),
                            score=one.hypothesis.score,
                            capped=one.hypothesis.capped,
                        )
                        for one in step.ended
                    ],
                )
                for step in trace.steps
            ],
        )

    async def _attention(
        self, wanted: ExaminedAttention, stretch: Stretch, segment: Segment
    ) -> ComputedAttention:
        in_encoder, config = wanted.kind == "encoder", self._config
        n_layers = config.n_encoder_layers if in_encoder else config.n_decoder_layers
        n_heads = config.n_heads if in_encoder else config.n_heads_of_decoder
        layer = n_layers - 1 if wanted.layer is None else wanted.layer
        source = [token.piece for token in segment.source_tokens]
        target = [token.piece for token in segment.target_tokens]
        rows = source if in_encoder else target
        for field, value, n in (
            ("layer", layer, n_layers),
            ("head", wanted.head, n_heads),
            ("token", wanted.token, len(rows)),
        ):
            if value >= n:
                raise InvalidRequestError.at(f"/attention/{field}", f"Should be less than {n}")
        start = self._codec.piece(config.start_id)
        columns = [start, *target[:-1]] if wanted.kind == "decoder" else source
        target_ids = self._explainer.produced(stretch.best)
        projections = await self._scheduler.project(
            stretch.source_ids, target_ids, wanted.kind, layer, wanted.token
        )
        return ComputedAttention(
            kind=wanted.kind,
            layer=layer,
            head=wanted.head,
            token=wanted.token,
            piece=rows[wanted.token],
            **_computed(projections, wanted.head, columns),
        )

    def _positions(self, n_positions: int) -> PositionTable:
        n_rows = min(n_positions, self._config.max_length)
        table = sinusoidal_positions(n_rows, self._config.d_model, self._config.position_layout)
        encoded = base64.b64encode(table.astype("<f2").tobytes()).decode("ascii")
        return PositionTable(shape=(n_rows, self._config.d_model), weights=encoded)


def _only_stretch(passage: Passage) -> Stretch:
    n_stretches = len(passage.stretches)
    if not n_stretches:
        raise InvalidRequestError.at("/text", "There is nothing to translate in the text")
    if n_stretches > 1:
        detail = f"The text is translated in {n_stretches} parts; send one sentence"
        raise InvalidRequestError.at("/text", detail)
    [stretch] = passage.stretches
    if len(stretch.source_ids) > MAX_SOURCE_TOKENS:
        raise TextTooLongError(
            f"a sentence has {len(stretch.source_ids):,} tokens; to be explained it may have "
            f"{MAX_SOURCE_TOKENS}, the end of sentence and control symbols counted"
        )
    return stretch


def _computed(projections: Projections, head: int, pieces: list[str]) -> dict[str, object]:
    """Equation 1 with numbers; the weights are the engine's own."""
    query = projections.query[head, 0]
    keys, values, weights = (
        of_all[head] for of_all in (projections.keys, projections.values, projections.weights)
    )
    products = keys.astype(np.float64) @ query
    scaled = products / math.sqrt(len(query))
    columns = [
        AttentionColumn(
            piece=piece,
            key=_numbers(keys[at]),
            value=_numbers(values[at]),
            product=float(products[at]),
            scaled=float(scaled[at]),
            seen=bool(projections.seen[at]),
            weight=float(weights[at]),
        )
        for at, piece in enumerate(pieces)
    ]
    output = weights.astype(np.float64) @ values
    return {
        "d_k": len(query),
        "query": _numbers(query),
        "columns": columns,
        "output": _numbers(output),
    }


def _numbers(vector: NDArray[np.floating]) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in vector.tolist()]
