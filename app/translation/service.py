"""The translation service: admits requests, and passes them to the pipeline."""

import math
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from app.errors import GoldenSentenceError, InvalidRequestError
from app.languages.detection import DetectedLanguage
from app.languages.served import Direction, is_auto
from app.observe.metrics import Metrics
from app.observe.timings import Timings
from app.scheduling.admission import Admission, CapacityLimiter
from app.scheduling.fair_queue import Caller
from app.shelf.slot import Lease
from app.text.spans import Span
from app.translation.answers import Events, ScoreAnswer, TranslateAnswer
from app.translation.attention_view import AttentionView
from app.translation.block import Block
from app.translation.explainer import ExplanationOptions
from app.translation.language_paths import LanguagePaths, Step, first_usable
from app.translation.pipeline import RequestContext, lane_of, off_the_loop, translate_step
from app.translation.requests import (
    Limits,
    ScoringRequest,
    TranslationOptions,
    TranslationRequest,
)
from app.translation.scorer import score_answer
from app.translation.served_model import KnownModel, ServedModel
from app.translation.translated_text import open_texts, translate_texts
from model.checkpoint.golden import GOLDEN_FILE

Explained = TypeVar("Explained")

CHARACTERS_PER_TEXT = 100
"""A text of a request takes as much memory as these characters, besides its own."""

MIN_SENTENCES_PER_DIFFERENCE = 4
"""In half precision, where close calls may flip, one golden sentence of these may differ."""


class TranslationService:
    """Translates requests with the models of their languages."""

    def __init__(
        self,
        models: Mapping[Direction, tuple[KnownModel, ...]],
        admission: Admission,
        limiter: CapacityLimiter,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self._admission = admission
        self._limiter = limiter
        self._limits = limits
        self._metrics = metrics
        self.paths = LanguagePaths(models)
        self.languages = self.paths.languages

    async def translate(
        self,
        request: TranslationRequest,
        client: Hashable = None,
        events: Events | None = None,
        timeout: float | None = None,
    ) -> tuple[TranslateAnswer, Timings]:
        """Translate a request; `client` is for fair queueing, None for a separate one.

        With `events`, parts of the response are passed on as soon as they are certain. `timeout` is
        in seconds, if the client sets less than the server's limit.

        Raises any `AppError` except `SettingsError` and `AccessError`.
        """
        timings = Timings()
        async with self._admission.slot(self._seconds(timeout)) as deadline:
            self._limits.check_texts(request.texts)
            size = sum(map(len, request.texts)) + CHARACTERS_PER_TEXT * len(request.texts)
            began = time.perf_counter()
            async with self._limiter.reserve(size, client):
                timings.queue += time.perf_counter() - began
                context = RequestContext(client, deadline, timings)
                answer = await translate_texts(request, self.paths, context, events)
        self._metrics.translated(timings, answer.usage.source_tokens)
        return answer, timings

    async def detect(self, texts: Sequence[str]) -> list[list[DetectedLanguage]]:
        """Return the possible languages of each text, best first.

        Raises `InvalidRequestError`, `TextTooLongError`, `QueueFullError`.
        """
        async with self._admission.slot(self._limits.timeout):
            self._limits.check_texts(texts)
            return await self.paths.detect(texts)

    async def score(
        self, request: ScoringRequest, client: Hashable = None, timeout: float | None = None
    ) -> tuple[ScoreAnswer, Timings]:
        """Score given translations; the wait for an engine counts as decoding.

        Raises as `translate`.
        """
        timings = Timings()
        async with self._admission.slot(self._seconds(timeout)) as deadline:
            if is_auto(request.source):
                raise InvalidRequestError.at("/source", "Name the source language of the pair")
            path = self.paths.direct(request.source, request.target)
            [models], [direction] = path.models, path.directions
            known = first_usable(models)
            view = None
            if request.attention:
                view = AttentionView(request.attention, known.transformer_config)
            explanations = ExplanationOptions(view, request.alignment)
            options = known.scoring_options(direction[1], request.length_penalty)
            self._limits.check_texts(request.texts)
            self._limits.check_texts(request.translations, "translation")
            caller = Caller(client, lane_of(len(request.texts)))
            texts = (*request.texts, *request.translations)
            size = sum(map(len, texts)) + CHARACTERS_PER_TEXT * len(texts)
            async with (
                self._limiter.reserve(size, client),
                Lease([one.slot for one in models], deadline) as model,
            ):
                pairs = await model.scorer.score(
                    list(zip(request.texts, request.translations, strict=True)),
                    direction,
                    options,
                    caller=caller,
                    timings=timings,
                )
                explanations.count(pairs)
                with timings.measure("decode"):
                    explained = [
                        await model.explainer.explain_segment(
                            pair, Span(0, len(pair.renderings[0].text)), explanations, caller
                        )
                        for pair in pairs
                    ]
                answer = await off_the_loop(
                    lambda: score_answer(path.name, direction, pairs, explained), size
                )
        self._metrics.translated(timings, answer.usage.source_tokens)
        return answer, timings

    async def explain(
        self,
        request: TranslationRequest,
        explain: Callable[[Step, Caller], Awaitable[Explained]],
        client: Hashable = None,
        timeout: float | None = None,
    ) -> Explained:
        """Return the result of `explain` for the one model that translates the single text.

        Its engine calls take turns as the given `Caller`.

        Raises as `translate`, and as `explain`.
        """
        async with self._admission.slot(self._seconds(timeout)) as deadline:
            self._limits.check_texts(request.texts)
            [text] = await open_texts(request, self.paths)
            path = text.found.path
            planned = await off_the_loop(
                lambda: path.sole_step(replace(request.options(), with_tokens=True)),
                request.n_term_characters,
            )
            async with planned.lease(deadline) as model:
                return await explain(planned.with_model(model), Caller(client))

    def _seconds(self, timeout: float | None) -> float:
        return min(timeout or math.inf, self._limits.timeout)


async def prepare(model: ServedModel) -> None:
    """Translate one text with a model whose engines run, and its golden sentences.

    Raises `GoldenSentenceError`.
    """
    await model.warm_up()
    for direction in dict.fromkeys((one.source, one.target) for one in model.golden):
        await _check_golden(model, direction)


async def _check_golden(model: ServedModel, direction: Direction) -> None:
    golden = [one for one in model.golden if (one.source, one.target) == direction]
    blocks = [Block(one.text) for one in golden]
    step = Step(model, model.reading(direction, TranslationOptions()))
    await translate_step(blocks, step, RequestContext(None, math.inf, Timings()))
    answers = [(one, block.answer().text) for one, block in zip(golden, blocks, strict=True)]
    others = [(one, found) for one, found in answers if found != one.translation]
    is_half = not {"bfloat16", "float16"}.isdisjoint(model.facts.engine.precision.split(","))
    if len(others) > (len(golden) // MIN_SENTENCES_PER_DIFFERENCE if is_half else 0):
        one, found = others[0]
        raise GoldenSentenceError(
            f"'{model.name}' differs from {GOLDEN_FILE}: {one.text!r} "
            f"became {found!r}, not {one.translation!r}"
        )
