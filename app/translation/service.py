"""The stages of a request below HTTP: languages, models, markup, response."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from app.concurrency.side_by_side import side_by_side
from app.errors import GoldenSentenceError, InvalidRequestError
from app.languages.detection import Detected
from app.languages.served import Direction
from app.observe.metrics import Metrics
from app.observe.timings import Timings
from app.scheduling.admission import Admission
from app.scheduling.capacity_limiter import CapacityLimiter
from app.scheduling.fair_queue import Caller
from app.translation.explainer import Asked
from app.translation.language_paths import AUTO, FoundPath, LanguagePath, LanguagePaths, Step
from app.translation.limits import Limits
from app.translation.partial_results import Feed
from app.translation.pipeline import (
    Turn,
    lane_of,
    off_the_loop,
    translate_blocks,
    translate_step,
)
from app.translation.scorer import score_answer
from app.translation.served_model import KnownModel, ServedModel, Wanted
from app.translation.translated_document import (
    TranslatedDocument,
    answer_of,
    open_documents,
    put_together,
)
from app.translation.windows import Block
from app.wire.native.answers import Events, ScoreAnswer, TranslateAnswer
from app.wire.native.score_request import ScoreRequest
from app.wire.native.translate_request import TranslateRequest
from model.checkpoint.golden import GOLDEN_FILE

Explained = TypeVar("Explained")

TEXT_SIZE = 100
"""A text of a request takes as much memory as so many characters, besides its own."""

HALF_MAY_DIFFER = 4
"""One golden sentence in so many may differ in half precision, where close calls may flip."""


class TranslationService:
    """Translates requests with the models of their languages. `translate` shows the stages."""

    def __init__(
        self,
        models: Mapping[Direction, KnownModel],
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
        request: TranslateRequest,
        client: Hashable = None,
        events: Events | None = None,
        timeout: float | None = None,
    ) -> tuple[TranslateAnswer, Timings]:
        """Translate a request; `client` is for fair queueing, None for a separate one.

        With `events`, parts of the response are passed on as soon as they are certain. `timeout` is
        in seconds, if the client sets less than the server's limit.

        Raises any `AppError` except `SettingsError` and `AccessError`.
        """
        seconds = min(timeout or math.inf, self._limits.timeout)
        timings = Timings()
        async with self._admission.slot(seconds) as deadline:
            self._limits.check_texts(request.text)
            size = sum(map(len, request.text)) + TEXT_SIZE * len(request.text)
            began = time.perf_counter()
            async with self._limiter.reserve(size, client):
                timings.queue += time.perf_counter() - began
                turn = Turn(client, deadline, timings)
                answer = await self._translate(request, events, turn)
        self._metrics.translated(timings, answer.usage.source_tokens)
        return answer, timings

    async def _translate(
        self, request: TranslateRequest, events: Events | None, turn: Turn
    ) -> TranslateAnswer:
        """Translate the texts of each language path, the paths side by side."""
        with turn.timings.measure("tokenize"):
            documents = await self._open(request, events)
        by_path: dict[LanguagePath, list[TranslatedDocument]] = {}
        for document in documents:
            by_path.setdefault(document.found.path, []).append(document)
        for path in by_path:
            _check_explicable(request, path)
        turns = [turn.with_own_timings() for _ in by_path]
        try:
            await side_by_side(
                self._translate_along(path, alike, request, own)
                for (path, alike), own in zip(by_path.items(), turns, strict=True)
            )
        except BaseException:
            documents.clear()
            raise
        turn.timings.add_longest([own.timings for own in turns])
        return await off_the_loop(partial(answer_of, documents), sum(map(len, request.text)))

    async def _open(
        self, request: TranslateRequest, events: Events | None
    ) -> list[TranslatedDocument]:
        """Find the languages and models of each text, and lift its markup."""
        path = self.paths.named(request.source, request.target)
        opened = await off_the_loop(partial(open_documents, request), sum(map(len, request.text)))
        found = (
            [FoundPath(path)] * len(opened)
            if path
            else await self.paths.found([" ".join(one.texts) for one in opened], request.target)
        )
        return [
            TranslatedDocument(
                text,
                document,
                one,
                Feed(index, events, one.path.is_direct) if events else None,
            )
            for index, (text, document, one) in enumerate(
                zip(request.text, opened, found, strict=True)
            )
        ]

    async def _translate_along(
        self,
        path: LanguagePath,
        documents: list[TranslatedDocument],
        request: TranslateRequest,
        turn: Turn,
    ) -> None:
        """Translate the texts of a request that use the same models."""
        steps = path.steps(_wanted(request))
        view = (
            steps[-1].model.attention_view(request.attention)
            if steps and request.attention
            else None
        )
        is_explained = request.attention is not None or request.alignment
        asked = Asked(view, request.alignment, self._limits.max_attention_weights)
        blocks = [one for text in documents for one in text.blocks]
        try:
            await translate_blocks(blocks, steps, turn, asked if is_explained else None)
        except BaseException:  # which keeps these lists as long as somebody keeps it
            blocks.clear()
            documents.clear()
            raise
        if is_explained:
            for text in documents:
                text.explain()
        with turn.timings.measure("detokenize"):
            await off_the_loop(
                partial(put_together, documents, request.alternatives),
                sum(len(text.source) for text in documents),
            )
        for text in documents:
            text.tell_rest()

    async def detect(self, texts: Sequence[str]) -> list[list[Detected]]:
        """Return the possible languages of each text, best first.

        Raises `InvalidRequestError`, `TextTooLongError`, `QueueFullError`.
        """
        async with self._admission.slot(self._limits.timeout):
            self._limits.check_texts(texts)
            return await self.paths.detect(texts)

    async def score(
        self, request: ScoreRequest, client: Hashable = None, timeout: float | None = None
    ) -> tuple[ScoreAnswer, Timings]:
        """Score given translations; the wait for an engine counts as decoding. As `translate`."""
        timings = Timings()
        seconds = min(timeout or math.inf, self._limits.timeout)
        async with self._admission.slot(seconds) as deadline:
            if request.source is not None and request.source.lower() == AUTO:
                raise InvalidRequestError.at("/source", "Name the source language of the pair")
            path = self.paths.direct(request.source, request.target)
            [known], [direction] = path.models, path.directions
            view = known.attention_view(request.attention) if request.attention else None
            asked = Asked(view, request.alignment, self._limits.max_attention_weights)
            options = known.scoring_options(direction[1], request.length_penalty)
            for field in ("text", "translation"):
                self._limits.check_texts(getattr(request, field), field)
            caller = Caller(client, lane_of(len(request.text)))
            async with known.lease(deadline) as model:
                pairs = await model.scorer.score(
                    list(zip(request.text, request.translation, strict=True)),
                    direction,
                    options,
                    caller=caller,
                    timings=timings,
                )
                asked.count(pairs)
                with timings.measure("decode"):
                    explained = [
                        await model.explainer.explain_pair(pair, direction, asked, caller)
                        for pair in pairs
                    ]
        answer = score_answer(path.name, direction, pairs, explained)
        self._metrics.translated(timings, answer.usage.source_tokens)
        return answer, timings

    async def explain(
        self,
        request: TranslateRequest,
        show: Callable[[Step, Caller], Awaitable[Explained]],
        client: Hashable = None,
        timeout: float | None = None,
    ) -> Explained:
        """Return the result of `show` for the one model that translates a request's single text.

        Its calls of engines wait for the turns of the given `Caller`.

        Raises as `translate`, and as `show`.
        """
        seconds = min(timeout or math.inf, self._limits.timeout)
        async with self._admission.slot(seconds) as deadline:
            self._limits.check_texts(request.text)
            [document] = await self._open(request, events=None)
            wanted = replace(_wanted(request), with_tokens=True)
            planned = document.found.path.sole_step(wanted)
            async with planned.model.lease(deadline) as model:
                return await show(planned.with_model(model), Caller(client))


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
    step = Step(model, model.reading(direction, Wanted()))
    await translate_step(blocks, step, Turn(None, math.inf, Timings()))
    answers = [(one, block.answer().text) for one, block in zip(golden, blocks, strict=True)]
    others = [(one, found) for one, found in answers if found != one.translation]
    is_half = not {"bfloat16", "float16"}.isdisjoint(model.facts.precision.split(","))
    if len(others) > (len(golden) // HALF_MAY_DIFFER if is_half else 0):
        one, found = others[0]
        raise GoldenSentenceError(
            f"'{model.name}' differs from {GOLDEN_FILE}: {one.text!r} "
            f"became {found!r}, not {one.translation!r}"
        )


def _check_explicable(request: TranslateRequest, path: LanguagePath) -> None:
    for field in ("attention", "alignment"):
        if not getattr(request, field):
            continue
        if request.format != "text":
            detail = f"{field.capitalize()} is available for plain text only"
            raise InvalidRequestError.at(f"/{field}", detail)
        if path.models and not path.is_direct:
            pairs = " and ".join(f"{source} to {target}" for source, target in path.directions)
            detail = f"No model attends from one to the other; request {pairs} separately"
            raise InvalidRequestError.at(f"/{field}", detail)


def _wanted(request: TranslateRequest) -> Wanted:
    return Wanted(
        request.beam_size,
        request.length_penalty,
        request.alternatives,
        request.max_target_tokens,
        request.split,
        request.terms,
        with_tokens=request.alignment or request.attention is not None,
    )
