"""The search and attention of one sentence, with numbers, for POST /explain."""

import asyncio
import base64
import math
from functools import cache
from typing import Literal

from app.errors import InvalidRequestError, TextTooLongError
from app.explanation.answer import (
    EndedBeam,
    ExplainAnswer,
    LikelyToken,
    LiveBeam,
    PositionTable,
    ShownSearch,
    ShownStep,
)
from app.explanation.given_pass import ActivationQuery, AttentionQuery, GivenPass
from app.scheduling.fair_queue import Caller
from app.translation import answers
from app.translation.explainer import ExplanationOptions
from app.translation.language_paths import Step
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import MAX_TOKEN_CHARACTERS, SegmentedText
from model.decoding.rules import HuggingFaceRule, MarianRule
from model.decoding.trace import NextToken, SearchTrace
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
"""Decimals of log-probabilities and probabilities."""


class SearchView:
    """Searches a sentence with one model, for display; `caller` takes turns with others."""

    def __init__(self, step: Step, caller: Caller) -> None:
        self._step = step
        self._caller = caller
        self._config = step.model.transformer_config
        self._codec = step.reading.codec
        self._engines = step.model.scheduler.explanations

    async def explain(
        self,
        source: str,
        attention: AttentionQuery | None,
        activations: ActivationQuery | None,
        n_positions: int,
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
        passed = GivenPass(self._step, self._caller, segment, explained)
        computed = await passed.attention(attention) if attention else None
        vectors = await passed.activations(activations) if activations else None
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
            activations=vectors,
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


def _rounded(log_prob: float) -> float:
    return round(log_prob, DIGITS)
