"""The way of a text through the server, below HTTP: tokenise, search, detokenise, explain."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.attention_view import AttentionView
from app.errors import AttentionTooLargeError, InvalidRequestError, TextTooLongError
from app.languages import Languages
from app.scheduler import Scheduler
from app.schemas import (
    Alternative,
    Segment,
    SourceToken,
    TargetToken,
    TranslateAnswer,
    TranslateRequest,
    Translation,
    Usage,
)
from app.sentence import Completion
from app.waiting import Lane
from model.checkpoint import CheckpointConfig
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text_codec import TextCodec, Token

MAX_INTERACTIVE_SENTENCES = 16
"""Somebody may be looking at the answer to so many; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many takes a millisecond; more would hold up the event loop."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for; `timeout` in seconds."""

    max_texts: int
    max_text_characters: int
    max_attention_weights: int
    timeout: float


@dataclass
class Timings:
    """Seconds per stage; of texts that were worked on side by side, the longest."""

    tokenize: float = 0.0
    queue: float = 0.0
    decode: float = 0.0
    detokenize: float = 0.0

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, stage, getattr(self, stage) + time.perf_counter() - began)


@dataclass
class _Text:
    """One text of a request on its way."""

    text: str
    tokens: list[Token]
    completion: Completion | None = None
    segments: list[Segment] = field(default_factory=list)


class TranslationService:
    """Translates requests with one model. The stages are in `translate`."""

    def __init__(
        self,
        config: CheckpointConfig,
        tokenizer: TextCodec,
        scheduler: Scheduler,
        limits: Limits,
    ) -> None:
        self._config = config
        self._tokenizer = tokenizer
        self._scheduler = scheduler
        self._limits = limits
        self.languages = Languages(config.directions)

    async def translate(self, request: TranslateRequest) -> tuple[TranslateAnswer, Timings]:
        """Answer a request. Raises any `AppError` but `SettingsError`."""
        async with self._scheduler.place(self._limits.timeout) as deadline:
            timings = Timings()
            source, target = self.languages.resolve(request.source, request.target)
            options = self._search_options(request)
            view = request.attention and AttentionView(request.attention, self._config.transformer)
            self._check_lengths(request)
            with timings.measure("tokenize"):
                if sum(map(len, request.text)) <= MAX_INLINE_CHARACTERS:
                    texts = self._tokenize(request.text, target)
                else:
                    texts = await asyncio.to_thread(self._tokenize, request.text, target)
            await self._search(texts, options, deadline, timings)
            if view:
                with timings.measure("decode"):
                    await self._explain(texts, view)
            with timings.measure("detokenize"):
                translations = [
                    self._translation(text, source, target, explained=view is not None)
                    for text in texts
                ]
        answer = TranslateAnswer(
            model=self._config.name, translations=translations, usage=_usage(texts)
        )
        return answer, timings

    async def warm_up(self) -> None:
        """Translate one text, so that the first request does not pay for what is set up lazily."""
        _, target = self._config.directions[0]
        source_ids = [token.id for token in self._tokenizer.encode_source(".", target)]
        options = SearchOptions(self._config.beam_size, rule=self._config.search_rule)
        await self._scheduler.translate([source_ids], options)

    def _search_options(self, request: TranslateRequest) -> SearchOptions:
        beam_size = request.beam_size or self._config.beam_size
        if request.alternatives >= beam_size:
            detail = f"Input should be less than beam_size, which is {beam_size}"
            raise InvalidRequestError.at("/alternatives", detail)
        length_penalty = request.length_penalty
        if length_penalty is None:
            length_penalty = self._config.length_penalty
        max_target_tokens = request.max_target_tokens
        if max_target_tokens is not None:
            max_target_tokens = min(max_target_tokens, self._config.transformer.max_length)
        return SearchOptions(
            beam_size=beam_size,
            n_best=1 + request.alternatives,
            length_penalty=length_penalty,
            max_target_tokens=max_target_tokens,
            rule=self._config.search_rule,
        )

    def _check_lengths(self, request: TranslateRequest) -> None:
        if len(request.text) > self._limits.max_texts:
            detail = f"List should have at most {self._limits.max_texts} items"
            raise InvalidRequestError.at("/text", detail)
        if max(map(len, request.text)) > self._limits.max_text_characters:
            raise TextTooLongError(
                f"a text may have {self._limits.max_text_characters:,} characters at most"
            )

    def _tokenize(self, texts: list[str], target: str) -> list[_Text]:
        longest = self._config.transformer.max_length
        tokenized = [_Text(text, self._tokenizer.encode_source(text, target)) for text in texts]
        for index, text in enumerate(tokenized):
            if len(text.tokens) > longest:
                raise TextTooLongError(
                    f"text {index} has {len(text.tokens):,} tokens, "
                    f"the model reads {longest:,} at once; send its sentences one by one"
                )
        return tokenized

    async def _search(
        self, texts: list[_Text], options: SearchOptions, deadline: float, timings: Timings
    ) -> None:
        """Give every text that has words its completion; the others have nothing to translate."""
        wordless = self._tokenizer.n_control_tokens
        worded = [text for text in texts if not text.text.isspace() and len(text.tokens) > wordless]
        sources = [[token.id for token in text.tokens] for text in worded]
        lane: Lane = "interactive" if len(sources) <= MAX_INTERACTIVE_SENTENCES else "bulk"
        completions = await self._scheduler.translate(
            sources, options, lane=lane, deadline=deadline
        )
        for text, completion in zip(worded, completions, strict=True):
            text.completion = completion
        timings.queue = max((done.queued for done in completions), default=0.0)
        timings.decode = max((done.worked for done in completions), default=0.0)

    async def _explain(self, texts: list[_Text], view: AttentionView) -> None:
        worded = [(text, text.completion.hypotheses[0]) for text in texts if text.completion]
        n_weights = sum(
            view.n_weights(len(best.log_probs), len(text.tokens)) for text, best in worded
        )
        if n_weights > self._limits.max_attention_weights:
            raise AttentionTooLargeError(
                f"the answer would hold {n_weights:,} attention weights, "
                f"{self._limits.max_attention_weights:,} are allowed; "
                "ask for fewer layers or heads, or send fewer texts"
            )
        for text, best in worded:
            source_ids = [token.id for token in text.tokens]
            target_ids = self._produced(best)
            weights = await self._scheduler.explain(source_ids, target_ids, view.kind)
            shown = await asyncio.to_thread(view.show, weights)
            answered, target_tokens = self._tokenizer.decode_target(target_ids)
            text.segments = [
                Segment(
                    source=(0, len(text.text)),
                    target=(0, len(answered)),
                    source_tokens=[
                        SourceToken(piece=token.piece, start=token.start, end=token.end)
                        for token in text.tokens
                    ],
                    target_tokens=[
                        TargetToken(
                            piece=token.piece, start=token.start, end=token.end, log_prob=log_prob
                        )
                        for token, log_prob in zip(target_tokens, best.log_probs, strict=True)
                    ],
                    attention=shown,
                )
            ]

    def _produced(self, hypothesis: Hypothesis) -> list[int]:
        """A hypothesis's tokens with the end-of-sentence token, if it got that far."""
        end = [] if hypothesis.capped else [self._tokenizer.eos_id]
        return [*hypothesis.ids, *end]

    def _translation(self, text: _Text, source: str, target: str, explained: bool) -> Translation:
        segments = text.segments if explained else None
        if text.completion is None:
            return Translation(
                text=text.text, source=source, target=target, score=0.0, confidence=1.0,
                flags=[], alternatives=[], segments=segments,
            )  # fmt: skip
        best, *others = text.completion.hypotheses
        return Translation(
            text=self._tokenizer.decode(best.ids),
            source=source,
            target=target,
            score=best.score,
            confidence=math.exp(math.fsum(best.log_probs) / len(best.log_probs)),
            flags=["length_capped"] if best.capped else [],
            alternatives=[
                Alternative(text=self._tokenizer.decode(other.ids), score=other.score)
                for other in others
            ],
            segments=segments,
        )


def _usage(texts: list[_Text]) -> Usage:
    completed = [(text, text.completion) for text in texts if text.completion]
    return Usage(
        characters=sum(len(text.text) for text in texts),
        source_tokens=sum(len(text.tokens) for text, _ in completed),
        target_tokens=sum(len(done.hypotheses[0].log_probs) for _, done in completed),
    )
