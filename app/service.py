"""The way of a request through the server, below HTTP: choose models, translate, explain, join."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from app.errors import InvalidRequestError, TextTooLongError
from app.languages import Direction, Languages
from app.passage import Passage
from app.places import Places
from app.schemas import (
    Alternative,
    Segment,
    TranslateAnswer,
    TranslateRequest,
    Translation,
    Usage,
)
from app.served_model import MAX_INLINE_CHARACTERS, ServedModel
from app.timings import Timings
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
            passed: list[list[Passage]] = []
            for step in steps:
                passages = await step.model.translate(
                    texts, step.direction, request.split, step.options,
                    deadline=deadline, timings=timings,
                )  # fmt: skip
                texts = [passage.answer().after for passage in passages]
                passed.append(passages)
            segments: Sequence[list[Segment] | None] = [None] * len(texts)
            if view or request.alignment:
                with timings.measure("decode"):
                    segments = await steps[-1].model.explainer.explain(
                        passed[-1],
                        (languages[-2], languages[-1]),
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


def _check_explicable(request: TranslateRequest, languages: tuple[str, ...]) -> None:
    if len(languages) == 2:
        return
    for field in ("attention", "alignment"):
        if getattr(request, field):
            pairs = " and ".join(f"{source} to {target}" for source, target in pairwise(languages))
            detail = f"No model attends from one to the other; ask for {pairs}, one by one"
            raise InvalidRequestError.at(f"/{field}", detail)


def _answer(
    request: TranslateRequest,
    languages: tuple[str, ...],
    passed: Sequence[Sequence[Passage]],
    segments: Sequence[list[Segment] | None],
) -> list[Translation]:
    return [
        _translation(languages, passages, request.alternatives, shown)
        for passages, shown in zip(zip(*passed, strict=True), segments, strict=True)
    ]


def _translation(
    languages: tuple[str, ...],
    passages: Sequence[Passage],
    n_alternatives: int,
    segments: list[Segment] | None,
) -> Translation:
    """One text's, from its passage through each model; scores add up, as log-probabilities do."""
    last = passages[-1]
    log_probs = [log_prob for passage in passages for log_prob in passage.log_probs]
    before = math.fsum(passage.score() for passage in passages[:-1])
    source, *pivot, target = languages
    return Translation(
        text=last.answer().after,
        source=source,
        target=target,
        pivot=pivot[0] if pivot else None,
        score=before + last.score(),
        confidence=math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0,
        flags=sorted({flag for passage in passages for flag in passage.flags}),
        alternatives=[
            Alternative(text=last.answer(rank).after, score=before + last.score(rank))
            for rank in range(1, min(1 + n_alternatives, last.n_answers))
        ],
        segments=segments,
    )


def _usage(texts: Sequence[str], passed: Sequence[Sequence[Passage]]) -> Usage:
    through = [passage for passages in passed for passage in passages]
    return Usage(
        characters=sum(map(len, texts)),
        source_tokens=sum(passage.n_source_tokens for passage in through),
        target_tokens=sum(len(passage.log_probs) for passage in through),
    )
