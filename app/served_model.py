"""One checkpoint in service: texts in, what its search found for each out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from app.attention_view import AttentionView
from app.errors import AttentionTooLargeError, InvalidRequestError, TextTooLongError
from app.languages import Direction
from app.scheduler import Scheduler
from app.schemas import AttentionRequest, Segment, SourceToken, TargetToken, TranslateRequest
from app.sentence import Completion
from app.timings import Timings
from app.waiting import Lane
from app.word_aligner import WordAligner
from model.alignment import Bitext
from model.checkpoint import CheckpointConfig
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text_codec import TextCodec, Token
from model.words import words

MAX_INTERACTIVE_SENTENCES = 16
"""Somebody may be looking at the answer to so many; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many takes a millisecond; more would hold up the event loop."""


@dataclass
class Passage:
    """One text on its way through a model; without a completion, there is nothing to translate."""

    text: str
    tokens: list[Token]
    completion: Completion | None = None

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """Best first; none where there is nothing to translate."""
        return self.completion.hypotheses if self.completion else []


class ServedModel:
    """What serves one checkpoint."""

    def __init__(
        self, config: CheckpointConfig, tokenizer: TextCodec, scheduler: Scheduler
    ) -> None:
        self._config = config
        self._tokenizer = tokenizer
        self._aligner = WordAligner(config, tokenizer, scheduler)
        self.scheduler = scheduler

    @property
    def name(self) -> str:
        """What the API calls it."""
        return self._config.name

    @property
    def directions(self) -> list[Direction]:
        """What it translates from and to."""
        return self._config.directions

    async def warm_up(self) -> None:
        """Translate one text, so that the first request does not pay for what is set up lazily."""
        _, target = self.directions[0]
        source_ids = [token.id for token in self._tokenizer.encode_source(".", target)]
        options = SearchOptions(self._config.beam_size, rule=self._config.search_rule)
        await self.scheduler.translate([source_ids], options)

    def search_options(self, request: TranslateRequest) -> SearchOptions:
        """How to search: as the request says, else the checkpoint. Raises `InvalidRequestError`."""
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

    def attention_view(self, request: AttentionRequest) -> AttentionView:
        """The selection as this model has it. Raises `InvalidRequestError`."""
        return AttentionView(request, self._config.transformer)

    async def translate(
        self,
        texts: Sequence[str],
        target: str,
        options: SearchOptions,
        deadline: float,
        timings: Timings,
    ) -> list[Passage]:
        """Tokenise and search. Raises `TextTooLongError`, and as `Scheduler.translate`."""
        with timings.measure("tokenize"):
            if sum(map(len, texts)) <= MAX_INLINE_CHARACTERS:
                passages = self._tokenize(texts, target)
            else:
                passages = await asyncio.to_thread(self._tokenize, texts, target)
        wordless = self._tokenizer.n_control_tokens
        worded = [
            passage
            for passage in passages
            if not passage.text.isspace() and len(passage.tokens) > wordless
        ]
        sources = [[token.id for token in passage.tokens] for passage in worded]
        lane: Lane = "interactive" if len(sources) <= MAX_INTERACTIVE_SENTENCES else "bulk"
        completions = await self.scheduler.translate(sources, options, lane=lane, deadline=deadline)
        for passage, completion in zip(worded, completions, strict=True):
            passage.completion = completion
        timings.queue += max((done.queued for done in completions), default=0.0)
        timings.decode += max((done.worked for done in completions), default=0.0)
        return passages

    def detokenize(self, passage: Passage) -> list[str]:
        """The text of every hypothesis, best first; the text itself without any."""
        if passage.completion is None:
            return [passage.text]
        return [self._tokenizer.decode(hypothesis.ids) for hypothesis in passage.hypotheses]

    async def explain(
        self,
        passages: Sequence[Passage],
        direction: Direction,
        *,
        view: AttentionView | None,
        alignment: bool,
        max_weights: int,
    ) -> list[list[Segment]]:
        """What the model saw as it produced the best hypothesis of each, and how words align.

        Raises `AttentionTooLargeError`, and as `Scheduler.explain`.
        """
        n_weights = sum(
            view.n_weights(len(passage.hypotheses[0].log_probs), len(passage.tokens))
            for passage in passages
            if view and passage.hypotheses
        )
        if n_weights > max_weights:
            raise AttentionTooLargeError(
                f"the answer would hold {n_weights:,} attention weights, "
                f"{max_weights:,} are allowed; "
                "ask for fewer layers or heads, or send fewer texts"
            )
        return [
            [await self._explain(passage, direction, view, alignment=alignment)]
            if passage.hypotheses
            else []
            for passage in passages
        ]

    def _tokenize(self, texts: Sequence[str], target: str) -> list[Passage]:
        longest = self._config.transformer.max_length
        passages = [Passage(text, self._tokenizer.encode_source(text, target)) for text in texts]
        for index, passage in enumerate(passages):
            if len(passage.tokens) > longest:
                raise TextTooLongError(
                    f"text {index} has {len(passage.tokens):,} tokens, the model "
                    f"'{self.name}' reads {longest:,} at once; send its sentences one by one"
                )
        return passages

    async def _explain(
        self, passage: Passage, direction: Direction, view: AttentionView | None, *, alignment: bool
    ) -> Segment:
        best = passage.hypotheses[0]
        answered, produced = self._tokenizer.decode_target(self._produced(best))
        segment = Segment(
            source=(0, len(passage.text)),
            target=(0, len(answered)),
            source_tokens=[
                SourceToken(piece=token.piece, start=token.start, end=token.end)
                for token in passage.tokens
            ],
            target_tokens=[
                TargetToken(piece=token.piece, start=token.start, end=token.end, log_prob=log_prob)
                for token, log_prob in zip(produced, best.log_probs, strict=True)
            ],
        )
        if view:
            source_ids = [token.id for token in passage.tokens]
            target_ids = [token.id for token in produced]
            weights = await self.scheduler.explain(source_ids, target_ids, view.kind)
            segment.attention = await asyncio.to_thread(view.show, weights)
        if alignment:
            segment.source_words = words(passage.text)
            segment.target_words = words(answered)
            segment.alignment = await self._aligner.links(
                Bitext(
                    passage.text,
                    answered,
                    *direction,
                    segment.source_words,
                    segment.target_words,
                    produced,
                )
            )
        return segment

    def _produced(self, hypothesis: Hypothesis) -> list[int]:
        """A hypothesis's tokens with the end-of-sentence token, if it got that far."""
        end = [] if hypothesis.capped else [self._tokenizer.eos_id]
        return [*hypothesis.ids, *end]
