"""The search and attention of one sentence, with numbers, for POST /explain."""

import asyncio
import base64
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidRequestError, TextTooLongError
from app.explanation.answer import (
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
from app.scheduling.fair_queue import Caller
from app.translation import answers
from app.translation.attention_view import check_kind
from app.translation.explainer import ExplanationOptions
from app.translation.language_paths import Step
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import MAX_TOKEN_CHARACTERS, SegmentedText
from model.decoding.rules import HuggingFaceRule, MarianRule
from model.decoding.trace import NextToken, SearchTrace
from model.engine.explanations import AttentionKind, AttentionRow, Projections
from model.transformer.positions import sinusoidal_positions

MAX_SOURCE_TOKENS = 128
"""Maximum source tokens of an explained sentence, whose search runs between two steps of an engine
and delays its other sentences."""

_RULES: dict[type, Literal["attend", "transformers", "marian"]] = {
    type(None): "attend",
    HuggingFaceRule: "transformers",
    MarianRule: "marian",
}

DIGITS = 6
"""Significant digits of the numbers in a vector."""


@dataclass(frozen=True, slots=True)
class AttentionQuery:
    """A row of attention to show in numbers; `layer` None is the last."""

    kind: AttentionKind
    layer: int | None
    head: int
    token: int


class SearchView:
    """Searches a sentence with one model, for display; `caller` takes turns with others."""

    def __init__(self, step: Step, caller: Caller) -> None:
        self._step = step
        self._caller = caller
        self._config = step.model.transformer_config
        self._codec = step.reading.codec
        self._engines = step.model.scheduler.explanations

    async def explain(
        self, source: str, attention: AttentionQuery | None, n_positions: int
    ) -> ExplainAnswer:
        """Return the search that POST /translate would make, and other requested parts.

        Raises `InvalidRequestError`, `TextTooLongError`, and as `QueuedExplanations.trace`.
        """
        if len(source) > MAX_SOURCE_TOKENS * MAX_TOKEN_CHARACTERS:
            raise TextTooLongError(
                f"the text has {len(source):,} characters; the limit for explanation is "
                f"{MAX_SOURCE_TOKENS} tokens"
            )
        direction = self._step.direction
        text = await asyncio.to_thread(SegmentedText, source, self._step.reading)
        _only_segment(text)
        traces: dict[Segment, SearchTrace] = {}
        while text.pending():
            segment = _only_segment(text)
            traces[segment] = await self._engines.trace(
                segment.source_ids, segment.options, self._caller
            )
            segment.settle(traces[segment].hypotheses)
        segment = _only_segment(text)
        options = ExplanationOptions()
        [explained] = await self._step.model.explainer.explain(text, options, self._caller)
        computed = await self._attention(attention, segment, explained) if attention else None
        log_probs = segment.best.log_probs
        return ExplainAnswer(
            model=self._step.model.name,
            source=direction[0],
            target=direction[1],
            text=text.answer().after,
            score=text.score(),
            confidence=math.exp(math.fsum(log_probs) / len(log_probs)),
            segment=explained,
            search=await asyncio.to_thread(self._search, segment, traces[segment]),
            attention=computed,
            positions=self._positions(n_positions) if n_positions else None,
            usage=answers.Usage(
                characters=len(source),
                source_tokens=len(segment.source_ids),
                target_tokens=len(log_probs),
            ),
        )

    def _search(self, segment: Segment, trace: SearchTrace) -> ShownSearch:
        options = segment.options
        piece = cache(self._codec.piece)

        def likely(one: NextToken) -> LikelyToken:
            return LikelyToken(
                piece(one.token), _rounded(one.log_prob), _rounded(math.exp(one.log_prob))
            )

        steps = [
            ShownStep(
                beams=[
                    LiveBeam(
                        beam.parent,
                        None if beam.token is None else piece(beam.token),
                        _rounded(beam.log_prob),
                        [likely(one) for one in beam.likeliest],
                    )
                    for beam in step.beams
                ],
                ended=[
                    EndedBeam(
                        one.beam,
                        self._codec.decode(one.hypothesis.ids),
                        one.hypothesis.score,
                        one.hypothesis.capped,
                    )
                    for one in step.ended
                ],
            )
            for step in trace.steps
        ]
        return ShownSearch(
            rule=_RULES[type(options.rule)],
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            max_target_tokens=options.limits(
                len(segment.source_ids), self._config.max_length
            ).n_tokens,
            steps=steps,
        )

    async def _attention(
        self, query: AttentionQuery, segment: Segment, explained: answers.Segment
    ) -> ComputedAttention:
        in_encoder, config = query.kind == "encoder", self._config
        check_kind(query.kind, config)
        n_layers = config.n_encoder_layers if in_encoder else config.n_decoder_layers
        n_heads = config.n_heads if in_encoder else config.n_heads_of_decoder
        layer = n_layers - 1 if query.layer is None else query.layer
        source = [token.piece for token in explained.source_tokens]
        target = [token.piece for token in explained.target_tokens]
        rows = source if in_encoder else target
        for field, value, n in (
            ("layer", layer, n_layers),
            ("head", query.head, n_heads),
            ("token", query.token, len(rows)),
        ):
            if value >= n:
                raise InvalidRequestError.at(f"/attention/{field}", f"Should be less than {n}")
        start = self._codec.piece(config.start_id)
        columns = [start, *target[:-1]] if query.kind == "decoder" else source
        target_ids = [token.id for token in segment.renderings[0].tokens]
        projections = await self._engines.project(
            segment.source_ids,
            target_ids,
            AttentionRow(query.kind, layer, query.token),
            self._caller,
        )
        return _computed(replace(query, layer=layer), rows[query.token], projections, columns)

    def _positions(self, n_positions: int) -> PositionTable:
        n_rows = min(n_positions, self._config.max_length)
        shape = self._config
        table = sinusoidal_positions(
            n_rows, shape.d_model, shape.position_layout, shape.position_offset
        )
        encoded = base64.b64encode(table.astype("<f2").tobytes()).decode("ascii")
        return PositionTable(shape=(n_rows, self._config.d_model), weights=encoded)


def _only_segment(text: SegmentedText) -> Segment:
    n_segments = len(text.segments)
    if not n_segments:
        raise InvalidRequestError.at("/text", "The text has nothing to translate")
    if n_segments > 1:
        detail = f"The text is translated in {n_segments} parts; send one sentence"
        raise InvalidRequestError.at("/text", detail)
    [segment] = text.segments
    if len(segment.source_ids) > MAX_SOURCE_TOKENS:
        raise TextTooLongError(
            f"a sentence has {len(segment.source_ids):,} tokens; the limit for explanation is "
            f"{MAX_SOURCE_TOKENS}, including the end of sentence and control symbols"
        )
    return segment


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


def _rounded(log_prob: float) -> float:
    return round(log_prob, DIGITS)
