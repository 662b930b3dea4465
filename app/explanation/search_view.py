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
from model.decoding.trace import Beam, Ended, SearchTrace
from model.transformer.config import TransformerConfig
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


async def explain_search(
    source: str,
    step: Step,
    caller: Caller,
    *,
    attention: AttentionQuery | None,
    activations: ActivationQuery | None,
    n_positions: int,
) -> ExplainAnswer:
    """Return the search that POST /translate would make, and other requested parts.

    The engine's calls take turns as `caller`. Raises `InvalidRequestError`, `TextTooLongError`, and
    as `QueuedExplanations.trace`.
    """
    if len(source) > MAX_SOURCE_TOKENS * MAX_TOKEN_CHARACTERS:
        raise TextTooLongError(
            f"the text has {len(source):,} characters; the limit for explanation is "
            f"{MAX_SOURCE_TOKENS} tokens"
        )
    model = step.model
    text = await asyncio.to_thread(SegmentedText, source, step.reading)
    _only_segment(text)
    traces: dict[Segment, SearchTrace] = {}
    while text.pending():
        segment = _only_segment(text)
        traces[segment] = await model.scheduler.explanations.trace(
            segment.source_ids, segment.options, caller
        )
        segment.settle(traces[segment].hypotheses)
    segment = _only_segment(text)
    [explained] = await model.explainer.explain(text, ExplanationOptions(), caller)
    passed = GivenPass(step, caller, segment, explained)
    log_probs = segment.best.log_probs
    max_length = model.transformer_config.max_length
    return ExplainAnswer(
        model=model.name,
        source=step.direction[0],
        target=step.direction[1],
        text=text.answer().after,
        score=text.score(),
        confidence=math.exp(math.fsum(log_probs) / len(log_probs)),
        segment=explained,
        attention=await passed.attention(attention) if attention else None,
        activations=await passed.activations(activations) if activations else None,
        search=await asyncio.to_thread(_search, segment, traces[segment], max_length),
        positions=_positions(model.transformer_config, n_positions) if n_positions else None,
        usage=answers.Usage(len(source), len(segment.source_ids), len(log_probs)),
    )


def _search(segment: Segment, trace: SearchTrace, max_length: int) -> ShownSearch:
    options, codec = segment.options, segment.codec
    piece = cache(codec.piece)

    def live(one: Beam) -> LiveBeam:
        last = None if one.token is None else piece(one.token)
        likeliest = [
            LikelyToken(piece(token), _rounded(log_prob), _rounded(math.exp(log_prob)))
            for token, log_prob in one.likeliest
        ]
        return LiveBeam(one.parent, last, _rounded(one.log_prob), likeliest)

    def ended(one: Ended) -> EndedBeam:
        found = one.hypothesis
        return EndedBeam(one.beam, codec.decode(found.ids), found.score, found.capped)

    return ShownSearch(
        rule=_RULES[type(options.rule)],
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        max_target_tokens=options.limits(len(segment.source_ids), max_length).n_tokens,
        steps=[
            ShownStep([live(one) for one in step.beams], [ended(one) for one in step.ended])
            for step in trace.steps
        ],
    )


def _positions(config: TransformerConfig, n_positions: int) -> PositionTable:
    n_rows = min(n_positions, config.max_length)
    table = sinusoidal_positions(
        n_rows, config.d_model, config.position_layout, config.position_offset
    )
    encoded = base64.b64encode(table.astype("<f2").tobytes()).decode("ascii")
    return PositionTable(shape=(n_rows, config.d_model), weights=encoded)


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
