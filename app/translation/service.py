"""A request through the pipeline, below HTTP: choose models, translate, explain, join."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TypeVar

from app.errors import InvalidRequestError
from app.observe.metrics import Metrics
from app.observe.timings import Timings
from app.scheduling.admission import Admission
from app.scheduling.side_by_side import side_by_side
from app.text.language_detection import Detected
from app.text.languages import Languages
from app.translation.language_path import Leg, legs_of, sole_leg
from app.translation.language_selection import AUTO, Itineraries
from app.translation.limits import Limits
from app.translation.partial_results import Feed, tell_whole
from app.translation.results import already_translated, translations_of, with_detected
from app.translation.scorer import score_answer
from app.translation.served_model import MAX_INLINE_CHARACTERS, ServedModel
from app.translation.translated_document import Rendition, open_documents, prose
from app.wire.native.answers import (
    PutEvent,
    ScoreAnswer,
    Segment,
    TranslateAnswer,
    Translation,
    Usage,
)
from app.wire.native.score_request import ScoreRequest
from app.wire.native.translate_request import TranslateRequest

Explained = TypeVar("Explained")


@dataclass(frozen=True)
class _Part:
    """What became of the texts of a request that go through the same languages.

    model  that translates to their target, where they were in it already
    """

    model: str
    translations: list[Translation]
    source_tokens: int
    target_tokens: int
    timings: Timings


class TranslationService:
    """Translates requests with the models that know their languages. The stages: `translate`."""

    def __init__(
        self, models: Sequence[ServedModel], admission: Admission, limits: Limits, metrics: Metrics
    ) -> None:
        self._models = tuple(models)
        self._by_direction = {pair: model for model in models for pair in model.directions}
        self._admission = admission
        self._limits = limits
        self._metrics = metrics
        self.languages = Languages([pair for model in models for pair in model.directions])
        self.itineraries = Itineraries(self.languages)

    async def translate(
        self,
        request: TranslateRequest,
        client: Hashable = None,
        put: PutEvent | None = None,
        timeout: float | None = None,
    ) -> tuple[TranslateAnswer, Timings]:
        """Answer a request; `client` takes turns with others, None is one of its own.

        With `put`, what is certain of the answer is told before, as it comes. `timeout` is in
        seconds, if the client gives it less than any request may take.

        Raises any `AppError` but `SettingsError` and `AccessError`.
        """
        seconds = min(timeout or math.inf, self._limits.timeout)
        async with self._admission.place(seconds) as deadline:
            self._limits.check_texts(request.text)
            timings = Timings()
            with timings.measure("tokenize"):
                itineraries = await self.itineraries.find(
                    request.source, request.target, len(request.text), partial(prose, request)
                )
            groups: dict[tuple[str, ...], list[int]] = {}
            for index, itinerary in enumerate(itineraries):
                groups.setdefault(itinerary.languages, []).append(index)
            for languages in groups:
                _check_explicable(request, languages)
            parts = await side_by_side(
                self._translate_along(
                    languages,
                    _only(request, indices),
                    client,
                    deadline,
                    [Feed(index, put, len(languages) == 2) for index in indices] if put else [],
                )
                for languages, indices in groups.items()
            )
            timings.add_longest([part.timings for part in parts])
        translations = {
            index: translation
            for indices, part in zip(groups.values(), parts, strict=True)
            for index, translation in zip(indices, part.translations, strict=True)
        }
        answer = TranslateAnswer(
            model=", ".join(dict.fromkeys(part.model for part in parts)),
            translations=[
                with_detected(translations[index], itinerary.detected)
                for index, itinerary in enumerate(itineraries)
            ],
            usage=Usage(
                characters=sum(map(len, request.text)),
                source_tokens=sum(part.source_tokens for part in parts),
                target_tokens=sum(part.target_tokens for part in parts),
            ),
        )
        self._metrics.translated(timings, answer.usage.source_tokens)
        return answer, timings

    async def detect(self, texts: Sequence[str]) -> list[list[Detected]]:
        """Of every text the languages that it may be in, best first.

        Raises `InvalidRequestError`, `TextTooLongError`, `QueueFullError`.
        """
        async with self._admission.place(self._limits.timeout):
            self._limits.check_texts(texts)
            return await self.itineraries.detect(texts)

    async def _translate_along(
        self,
        languages: tuple[str, ...],
        request: TranslateRequest,
        client: Hashable,
        deadline: float,
        feeds: Sequence[Feed],
    ) -> _Part:
        """The texts of a request that go through the same languages; all have a feed, or none."""
        timings = Timings()
        legs = legs_of(request, languages, self._by_direction)
        if not legs:
            tell_whole(request.text, feeds)
            into = (one for (_, to), one in self._by_direction.items() if to == languages[0])
            return _Part(next(into).name, already_translated(request, languages[0]), 0, 0, timings)
        is_live = request.format == "text"  # a tag's place is known at the end
        wanted = request.attention
        view = legs[-1].model.attention_view(wanted) if wanted else None
        texts = request.text
        passed: list[list[Rendition]] = []
        for leg in legs:
            told = feeds if is_live and leg is legs[-1] else ()
            renditions = await self._render(
                texts,
                request,
                leg,
                client=client,
                deadline=deadline,
                timings=timings,
                feeds=told,
                is_new=leg is legs[0],
            )
            texts = [rendition.text() for rendition in renditions]
            passed.append(renditions)
        if not is_live:
            tell_whole(texts, feeds)
        segments: Sequence[list[Segment] | None] = [None] * len(texts)
        if view or request.alignment:
            with timings.measure("decode"):
                segments = await legs[-1].model.explainer.explain(
                    [passage for rendition in passed[-1] for passage in rendition.passages],
                    legs[-1].direction,
                    view=view,
                    alignment=request.alignment,
                    max_weights=self._limits.max_attention_weights,
                )
        with timings.measure("detokenize"):
            build = partial(translations_of, request, languages, passed, segments)
            if sum(map(len, texts)) <= MAX_INLINE_CHARACTERS:
                translations = build()
            else:
                translations = await asyncio.to_thread(build)
        through = [rendition for renditions in passed for rendition in renditions]
        return _Part(
            model="+".join(dict.fromkeys(leg.model.name for leg in legs)),
            translations=translations,
            source_tokens=sum(rendition.n_source_tokens for rendition in through),
            target_tokens=sum(len(rendition.log_probs) for rendition in through),
            timings=timings,
        )

    async def score(self, request: ScoreRequest) -> ScoreAnswer:
        """Score given translations. Raises as `translate`."""
        async with self._admission.place(self._limits.timeout):
            if request.source is not None and request.source.lower() == AUTO:
                raise InvalidRequestError.at("/source", "Of a pair the language has to be named")
            direction = self.languages.resolve(request.source, request.target)
            model = self._by_direction[direction]
            view = model.attention_view(request.attention) if request.attention else None
            options = model.scoring_options(request)
            for field in ("text", "translation"):
                self._limits.check_texts(getattr(request, field), field)
            pairs = [
                await model.scorer.score(text, translation, direction, options)
                for text, translation in zip(request.text, request.translation, strict=True)
            ]
            segments = await model.explainer.explain_given(
                pairs,
                direction,
                view=view,
                alignment=request.alignment,
                max_weights=self._limits.max_attention_weights,
            )
        return score_answer(model.name, direction, pairs, segments)

    async def explain(
        self, request: TranslateRequest, show: Callable[[Leg], Awaitable[Explained]]
    ) -> Explained:
        """What `show` has to say of the one model that translates the one text of a request.

        Raises as `translate`, and as `show`.
        """
        async with self._admission.place(self._limits.timeout):
            self._limits.check_texts(request.text)
            [itinerary] = await self.itineraries.find(
                request.source, request.target, 1, partial(prose, request)
            )
            leg = sole_leg(legs_of(request, itinerary.languages, self._by_direction))
            return await show(leg)

    async def _render(
        self,
        texts: Sequence[str],
        request: TranslateRequest,
        leg: Leg,
        *,
        client: Hashable,
        deadline: float,
        timings: Timings,
        feeds: Sequence[Feed],
        is_new: bool,
    ) -> list[Rendition]:
        """The texts through one model; their markup, if any, is put on the words it belongs to."""
        with timings.measure("tokenize"):
            read = partial(open_documents, texts, request)
            is_short = sum(map(len, texts)) <= MAX_INLINE_CHARACTERS
            documents = read() if is_short else await asyncio.to_thread(read)
        found = await leg.model.translate(
            [text for document in documents for text in document.texts],
            leg.direction,
            request.split,
            leg.options,
            leg.glossary,
            client=client,
            deadline=deadline,
            timings=timings,
            feeds=feeds,
            is_new=is_new,
        )
        passages = iter(found)
        renditions = [
            Rendition(document, list(islice(passages, len(document.texts))))
            for document in documents
        ]
        with timings.measure("decode"):
            for rendition in renditions:
                for index, tagged in enumerate(rendition.document.tagged):
                    if tagged:
                        rendition.links[index] = await leg.model.explainer.word_links(
                            rendition.passages[index], leg.direction
                        )
        return renditions

    async def warm_up(self) -> None:
        """Translate one text with each model, and what is recorded with it.

        Raises `GoldenSentenceError`.
        """
        for model in self._models:
            await model.warm_up()
            await model.check_golden()


def _check_explicable(request: TranslateRequest, languages: tuple[str, ...]) -> None:
    for field in ("attention", "alignment"):
        if not getattr(request, field):
            continue
        if request.format != "text":
            raise InvalidRequestError.at(f"/{field}", "Of text alone, not of markup")
        if len(languages) > 2:
            pairs = " and ".join(f"{source} to {target}" for source, target in pairwise(languages))
            detail = f"No model attends from one to the other; ask for {pairs}, one by one"
            raise InvalidRequestError.at(f"/{field}", detail)


def _only(request: TranslateRequest, indices: Sequence[int]) -> TranslateRequest:
    if len(indices) == len(request.text):
        return request
    return request.model_copy(update={"text": [request.text[index] for index in indices]})
