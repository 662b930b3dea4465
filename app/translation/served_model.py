"""One checkpoint in service: texts in, what its search found for each out."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from app.errors import GoldenSentenceError, InvalidRequestError
from app.observe.timings import Timings
from app.scheduling.fair_queue import Lane
from app.scheduling.queue_items import Completion
from app.scheduling.scheduler import Scheduler
from app.scheduling.side_by_side import side_by_side
from app.text.glossary import NO_GLOSSARY, Glossary
from app.text.languages import Direction
from app.text.segmentation import Split
from app.translation.attention_view import AttentionView
from app.translation.explainer import Explainer
from app.translation.glossary_constraints import TermSpeller
from app.translation.partial_results import Feed, LiveStretches, LiveText
from app.translation.scorer import Scorer
from app.translation.segmented_text import Passage, Stretch
from app.wire.native.score_request import ScoreRequest
from app.wire.native.translate_request import AttentionRequest, TranslateRequest
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.golden import GOLDEN_FILE, GoldenSentence
from model.decoding.hypothesis import SearchOptions
from model.text.text_codec import TextCodec
from model.transformer.config import TransformerConfig

MAX_INTERACTIVE_SENTENCES = 16
"""Somebody may be looking at the answer to so many; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many takes a millisecond; more would hold up the event loop."""

WARM_UP_TOKENS = 16
"""At most, for a full stop: a checkpoint that does not know when to end should not hold up a start,
nor be taken for as slow as that would make it look."""


class ServedModel:
    """What serves one checkpoint."""

    def __init__(
        self,
        config: CheckpointConfig,
        tokenizer: TextCodec,
        scheduler: Scheduler,
        golden: Sequence[GoldenSentence] = (),
    ) -> None:
        self._config = config
        self._tokenizer = tokenizer
        self._golden = golden
        self.explainer = Explainer(config, tokenizer, scheduler)
        self._speller = TermSpeller(tokenizer)
        self.scorer = Scorer(tokenizer, scheduler, config.transformer.max_length)
        self.scheduler = scheduler

    @property
    def name(self) -> str:
        """What the API calls it."""
        return self._config.name

    @property
    def codec(self) -> TextCodec:
        """Text to ids and back."""
        return self._tokenizer

    @property
    def transformer_config(self) -> TransformerConfig:
        """The hyperparameters."""
        return self._config.transformer

    @property
    def directions(self) -> list[Direction]:
        """What it translates from and to."""
        return self._config.directions

    async def warm_up(self) -> None:
        """Translate one text, so that the first request does not pay for what is set up lazily."""
        _, target = self.directions[0]
        source_ids = self._tokenizer.source_ids(".", target)
        options = SearchOptions(
            self._config.beam_size, max_target_tokens=WARM_UP_TOKENS, rule=self._config.search_rule
        )
        await self.scheduler.translate([source_ids], options)
        self.scheduler.forget_pace()

    async def check_golden(self) -> None:
        """Translate what was recorded with the checkpoint. Raises `GoldenSentenceError`."""
        options = SearchOptions(
            self._config.beam_size,
            length_penalty=self._config.length_penalty,
            rule=self._config.search_rule,
        )
        for direction in dict.fromkeys((one.source, one.target) for one in self._golden):
            golden = [one for one in self._golden if (one.source, one.target) == direction]
            passages = await self.translate(
                [one.text for one in golden],
                direction,
                "sentences",
                options,
                deadline=math.inf,
                timings=Timings(),
            )
            for one, passage in zip(golden, passages, strict=True):
                if passage.answer().after != one.translation:
                    raise GoldenSentenceError(
                        f"'{self.name}' does not translate as {GOLDEN_FILE} says: {one.text!r} "
                        f"became {passage.answer().after!r}, not {one.translation!r}"
                    )

    def search_options(self, request: TranslateRequest) -> SearchOptions:
        """How to search: as the request says, else the checkpoint. Raises `InvalidRequestError`."""
        beam_size = request.beam_size or self._config.beam_size
        if request.alternatives >= beam_size:
            detail = f"Input should be less than beam_size, which is {beam_size}"
            raise InvalidRequestError.at("/alternatives", detail)
        max_target_tokens = request.max_target_tokens
        if max_target_tokens is not None:
            max_target_tokens = min(max_target_tokens, self._config.transformer.max_length)
        return SearchOptions(
            beam_size=beam_size,
            n_best=1 + request.alternatives,
            length_penalty=self._length_penalty(request.length_penalty),
            max_target_tokens=max_target_tokens,
            rule=self._config.search_rule,
        )

    def scoring_options(self, request: ScoreRequest) -> SearchOptions:
        """How a given translation is scored: as the request says, else the checkpoint."""
        penalty = self._length_penalty(request.length_penalty)
        return SearchOptions(length_penalty=penalty, rule=self._config.search_rule)

    def _length_penalty(self, wanted: float | None) -> float:
        return self._config.length_penalty if wanted is None else wanted

    def attention_view(self, request: AttentionRequest) -> AttentionView:
        """The selection as this model has it. Raises `InvalidRequestError`."""
        return AttentionView(request, self._config.transformer)

    async def translate(
        self,
        texts: Sequence[str],
        direction: Direction,
        split: Split,
        options: SearchOptions,
        glossary: Glossary = NO_GLOSSARY,
        *,
        client: Hashable = None,
        deadline: float,
        timings: Timings,
        feeds: Sequence[Feed] = (),
        is_new: bool = True,
    ) -> list[Passage]:
        """Cut into sentences, tokenise and search. Raises as `Scheduler.translate`.

        With `feeds`, one for each text, what is certain of a translation is told as it comes.
        """
        with timings.measure("tokenize"):
            if sum(map(len, texts)) <= MAX_INLINE_CHARACTERS:
                passages = self._cut(texts, direction, split, glossary)
            else:
                passages = await asyncio.to_thread(self._cut, texts, direction, split, glossary)
        n_sentences = sum(len(passage.stretches) for passage in passages)
        lane: Lane = "interactive" if n_sentences <= MAX_INTERACTIVE_SENTENCES else "bulk"
        live = {
            passage: LiveText(passage, self._tokenizer, feed)
            for passage, feed in zip(passages, feeds, strict=False)
        }
        for text in live.values():
            text.begin()
        # A stretch whose placeholders got lost is pending again, in another form.
        while pending := [(one, stretch) for one in passages for stretch in one.pending]:
            settled = await self._search(
                [stretch for _, stretch in pending],
                options,
                lane,
                client=client,
                deadline=deadline,
                timings=timings,
                followed=[(live[passage], stretch) for passage, stretch in pending if live],
                is_new=is_new,
            )
            is_new = False  # what is begun is finished
            if live:  # as each of them was done
                continue
            with timings.measure("detokenize"):
                if len(pending) <= MAX_INTERACTIVE_SENTENCES:
                    _settle(pending, settled)
                else:
                    await asyncio.to_thread(_settle, pending, settled)
        return passages

    def _cut(
        self, texts: Sequence[str], direction: Direction, split: Split, glossary: Glossary
    ) -> list[Passage]:
        max_tokens = self._config.transformer.max_length
        return [
            Passage(text, direction, self._tokenizer, max_tokens, split, glossary=glossary)
            for text in texts
        ]

    def options_for(self, stretch: Stretch, options: SearchOptions) -> SearchOptions:
        """Where there are placeholders, as many hypotheses as there are, to choose from.

        Where there are terms, constraints of their own.
        """
        if stretch.holds_placeholders:
            options = replace(options, n_best=options.beam_size)
        if stretch.terms:
            options = replace(options, constraints=self._speller.constraints(stretch.terms))
        return options

    async def _search(
        self,
        stretches: Sequence[Stretch],
        options: SearchOptions,
        lane: Lane,
        *,
        client: Hashable,
        deadline: float,
        timings: Timings,
        followed: Sequence[tuple[LiveText, Stretch]],
        is_new: bool,
    ) -> list[Completion]:
        """Each with the options that `options_for` has for it."""
        by_options: dict[SearchOptions, list[int]] = {}
        for index, stretch in enumerate(stretches):
            wanted = self.options_for(stretch, options)
            by_options.setdefault(wanted, []).append(index)
        found = await side_by_side(
            self.scheduler.translate(
                [stretches[index].source_ids for index in indices],
                wanted,
                lane=lane,
                client=client,
                deadline=deadline,
                listener=LiveStretches([followed[i] for i in indices]) if followed else None,
                is_new=is_new,
            )
            for wanted, indices in by_options.items()
        )
        completions: dict[int, Completion] = {}
        for indices, of_these in zip(by_options.values(), found, strict=True):
            completions |= zip(indices, of_these, strict=True)
        timings.queue += max(done.queued for done in completions.values())
        timings.decode += max(done.worked for done in completions.values())
        return [completions[index] for index in range(len(stretches))]


def _settle(pending: Sequence[tuple[Passage, Stretch]], completions: Sequence[Completion]) -> None:
    for (passage, stretch), completion in zip(pending, completions, strict=True):
        passage.settle(stretch, completion.hypotheses)
