"""The way of a request through the server, below HTTP: choose models, translate, explain, join."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.errors import InvalidRequestError, TextTooLongError
from app.languages import Languages
from app.places import Places
from app.schemas import (
    Alternative,
    Segment,
    TranslateAnswer,
    TranslateRequest,
    Translation,
    Usage,
)
from app.served_model import Passage, ServedModel
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
    target: str
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
            answered: list[list[str]] = []
            for step in steps:
                passages = await step.model.translate(
                    texts, step.target, step.options, deadline, timings
                )
                with timings.measure("detokenize"):
                    answered = [step.model.detokenize(passage) for passage in passages]
                texts = [best for best, *_ in answered]
                passed.append(passages)
            segments: Sequence[list[Segment] | None] = [None] * len(texts)
            if view or request.alignment:
                with timings.measure("decode"):
                    segments = await steps[-1].model.explain(
                        passed[-1],
                        (languages[-2], languages[-1]),
                        view=view,
                        alignment=request.alignment,
                        max_weights=self._limits.max_attention_weights,
                    )
        answer = TranslateAnswer(
            model="+".join(dict.fromkeys(step.model.name for step in steps)),
            translations=[
                _translation(languages, *parts)
                for parts in zip(zip(*passed, strict=True), answered, segments, strict=True)
            ],
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
            steps.append(_Step(model, target, model.search_options(wanted)))
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


def _translation(
    languages: tuple[str, ...],
    passed: Sequence[Passage],
    answered: Sequence[str],
    segments: list[Segment] | None,
) -> Translation:
    """One text's, from its passage through each model; scores add up, as log-probabilities do."""
    best = [passage.hypotheses[0] for passage in passed if passage.hypotheses]
    log_probs = [log_prob for hypothesis in best for log_prob in hypothesis.log_probs]
    score = math.fsum(hypothesis.score for hypothesis in best)
    source, *pivot, target = languages
    return Translation(
        text=answered[0],
        source=source,
        target=target,
        pivot=pivot[0] if pivot else None,
        score=score,
        confidence=math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0,
        flags=["length_capped"] if any(hypothesis.capped for hypothesis in best) else [],
        alternatives=[
            Alternative(text=text, score=score - best[-1].score + hypothesis.score)
            for text, hypothesis in zip(answered[1:], passed[-1].hypotheses[1:], strict=True)
        ],
        segments=segments,
    )


def _usage(texts: Sequence[str], passed: Sequence[Sequence[Passage]]) -> Usage:
    worded = [passage for passages in passed for passage in passages if passage.hypotheses]
    return Usage(
        characters=sum(map(len, texts)),
        source_tokens=sum(len(passage.tokens) for passage in worded),
        target_tokens=sum(len(passage.hypotheses[0].log_probs) for passage in worded),
    )
