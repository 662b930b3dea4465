"""The way of a request through the server, below HTTP: choose models, translate, explain, join."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise

from app.errors import InvalidRequestError, TextTooLongError
from app.languages import Direction, Languages
from app.markup import MarkupOptions
from app.places import Places
from app.rendition import Document, Rendition, open_document
from app.schemas import Alternative, Segment, TranslateAnswer, Translation, Usage
from app.served_model import MAX_INLINE_CHARACTERS, ServedModel
from app.timings import Timings
from app.translate_request import TranslateRequest
from model.decoding.hypothesis import SearchOptions


@dataclass(frozen=True)
class Limits:
    """What one request may ask for; `timeout` in seconds."""

    max_texts: int
    max_text_characters: int
    max_attention_weights: int
    timeout: float


@dataclass(frozen=True)
class _Step:
    """A model's part in a request."""

    model: ServedModel
    direction: Direction
    options: SearchOptions


class TranslationService:
    """Translates requests with the models that know their languages. The stages: `translate`."""

    def __init__(self, models: Sequence[ServedModel], places: Places, limits: Limits) -> None:
        self._models = tuple(models)
        self._by_direction = {pair: model for model in models for pair in model.directions}
        self._places = places
        self._limits = limits
        self.languages = Languages([pair for model in models for pair in model.directions])

    async def translate(self, request: TranslateRequest) -> tuple[TranslateAnswer, Timings]:
        """Answer a request. Raises any `AppError` but `SettingsError`."""
        async with self._places.place(self._limits.timeout) as deadline:
            languages = self.languages.chain(request.source, request.target)
            steps = self._steps(request, languages)
            _check_explicable(request, languages)
            wanted = request.attention
            view = steps[-1].model.attention_view(wanted) if wanted else None
            self._check_lengths(request)
            timings = Timings()
            texts = request.text
            passed: list[list[Rendition]] = []
            for step in steps:
                renditions = await self._render(texts, request, step, deadline, timings)
                texts = [rendition.text() for rendition in renditions]
                passed.append(renditions)
            segments: Sequence[list[Segment] | None] = [None] * len(texts)
            if view or request.alignment:
                with timings.measure("decode"):
                    segments = await steps[-1].model.explainer.explain(
                        [passage for rendition in passed[-1] for passage in rendition.passages],
                        steps[-1].direction,
                        view=view,
                        alignment=request.alignment,
                        max_weights=self._limits.max_attention_weights,
                    )
            with timings.measure("detokenize"):
                build = partial(_answer, request, languages, passed, segments)
                if sum(map(len, texts)) <= MAX_INLINE_CHARACTERS:
                    translations = build()
                else:
                    translations = await asyncio.to_thread(build)
        answer = TranslateAnswer(
            model="+".join(dict.fromkeys(step.model.name for step in steps)),
            translations=translations,
            usage=_usage(request.text, passed),
        )
        return answer, timings

    async def _render(
        self,
        texts: Sequence[str],
        request: TranslateRequest,
        step: _Step,
        deadline: float,
        timings: Timings,
    ) -> list[Rendition]:
        """The texts through one model; their markup, if any, is put on the words it belongs to."""
        with timings.measure("tokenize"):
            read = partial(_documents, texts, request)
            is_short = sum(map(len, texts)) <= MAX_INLINE_CHARACTERS
            documents = read() if is_short else await asyncio.to_thread(read)
        found = await step.model.translate(
            [text for document in documents for text in document.texts],
            step.direction,
            request.split,
            step.options,
            deadline=deadline,
            timings=timings,
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
                        rendition.links[index] = await step.model.explainer.word_links(
                            rendition.passages[index], step.direction
                        )
        return renditions

    async def warm_up(self) -> None:
        """Translate one text with each model."""
        for model in self._models:
            await model.warm_up()

    def _steps(self, request: TranslateRequest, languages: tuple[str, ...]) -> list[_Step]:
        """What the request asks for is asked of the last model; those before give their best."""
        before = request.model_copy(update={"alternatives": 0, "max_target_tokens": None})
        steps = []
        for source, target in pairwise(languages):
            model = self._by_direction[source, target]
            wanted = request if target == languages[-1] else before
            steps.append(_Step(model, (source, target), model.search_options(wanted)))
        return steps

    def _check_lengths(self, request: TranslateRequest) -> None:
        if len(request.text) > self._limits.max_texts:
            detail = f"List should have at most {self._limits.max_texts} items"
            raise InvalidRequestError.at("/text", detail)
        if max(map(len, request.text)) > self._limits.max_text_characters:
            raise TextTooLongError(
                f"a text may have {self._limits.max_text_characters:,} characters at most"
            )


def _documents(texts: Sequence[str], request: TranslateRequest) -> list[Document]:
    options = MarkupOptions(
        frozenset(request.ignore_tags),
        frozenset(request.splitting_tags),
        frozenset(request.non_splitting_tags),
    )
    return [open_document(text, request.format, options, index) for index, text in enumerate(texts)]


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


def _answer(
    request: TranslateRequest,
    languages: tuple[str, ...],
    passed: Sequence[Sequence[Rendition]],
    segments: Sequence[list[Segment] | None],
) -> list[Translation]:
    return [
        _translation(languages, renditions, request.alternatives, shown)
        for renditions, shown in zip(zip(*passed, strict=True), segments, strict=True)
    ]


def _translation(
    languages: tuple[str, ...],
    renditions: Sequence[Rendition],
    n_alternatives: int,
    segments: list[Segment] | None,
) -> Translation:
    """One text's, from its rendition by each model; scores add up, as log-probabilities do."""
    last = renditions[-1]
    log_probs = [log_prob for one in renditions for log_prob in one.log_probs]
    before = math.fsum(rendition.score() for rendition in renditions[:-1])
    source, *pivot, target = languages
    return Translation(
        text=last.text(),
        source=source,
        target=target,
        pivot=pivot[0] if pivot else None,
        score=before + last.score(),
        confidence=math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0,
        flags=sorted({flag for rendition in renditions for flag in rendition.flags}),
        alternatives=[
            Alternative(text=last.text(rank), score=before + last.score(rank))
            for rank in range(1, min(1 + n_alternatives, last.n_answers))
        ],
        segments=segments,
    )


def _usage(texts: Sequence[str], passed: Sequence[Sequence[Rendition]]) -> Usage:
    through = [rendition for renditions in passed for rendition in renditions]
    return Usage(
        characters=sum(map(len, texts)),
        source_tokens=sum(rendition.n_source_tokens for rendition in through),
        target_tokens=sum(len(rendition.log_probs) for rendition in through),
    )
