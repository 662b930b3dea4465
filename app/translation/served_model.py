"""One checkpoint in service: how it prepares texts and searches for a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import InvalidRequestError
from app.scheduling.scheduler import Scheduler
from app.text.glossary import NO_GLOSSARY, Glossary
from app.text.languages import Direction
from app.text.segmentation import Split
from app.text.spans import Span
from app.translation.attention_view import AttentionView
from app.translation.explainer import Explainer
from app.translation.scorer import Scorer
from app.translation.segments.glossary_constraints import TermSpeller
from app.translation.segments.reading import Reading
from app.wire.native.fields import AttentionRequest
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.golden import GoldenSentence
from model.decoding.hypothesis import SearchOptions
from model.text.text_codec import TextCodec
from model.text.unknown_characters import UnknownCharacters
from model.transformer.config import TransformerConfig

WARM_UP_TOKENS = 16
"""Limit for warming up: a checkpoint that never ends a sentence should neither delay the start nor
appear slow because of it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of a translation; the checkpoint sets omitted ones.

    with_tokens  whether the spans of tokens are needed
    """

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    max_target_tokens: int | None = None
    split: Split = "sentences"
    glossary: Glossary = NO_GLOSSARY
    with_tokens: bool = False


class ServedModel:
    """One checkpoint in service."""

    def __init__(
        self,
        config: CheckpointConfig,
        tokenizer: TextCodec,
        scheduler: Scheduler,
        golden: Sequence[GoldenSentence] = (),
    ) -> None:
        self._config = config
        self._tokenizer = tokenizer
        self._speller = TermSpeller(tokenizer)
        self._unknown = UnknownCharacters(tokenizer)
        self.golden = golden
        self.explainer = Explainer(config, tokenizer, scheduler)
        self.scorer = Scorer(tokenizer, scheduler, config.transformer.max_length)
        self.scheduler = scheduler

    @property
    def name(self) -> str:
        """Its name in the API."""
        return self._config.name

    @property
    def transformer_config(self) -> TransformerConfig:
        """The hyperparameters."""
        return self._config.transformer

    @property
    def directions(self) -> list[Direction]:
        """Its language directions."""
        return self._config.directions

    async def warm_up(self) -> None:
        """Translate one text, so that lazy initialisation does not slow down the first request."""
        reading = self.reading(self.directions[0], Wanted(max_target_tokens=WARM_UP_TOKENS))
        await self.scheduler.translate([reading.segment(Span(0, 1), ".", [])])
        self.scheduler.forget_pace()

    def reading(self, direction: Direction, wanted: Wanted) -> Reading:
        """Return how to prepare and search texts: as requested, else as in the checkpoint.

        Raises `InvalidRequestError`.
        """
        max_length = self._config.transformer.max_length
        beam_size = wanted.beam_size or self._config.beam_size
        if wanted.alternatives >= beam_size:
            detail = f"Input should be less than beam_size, which is {beam_size}"
            raise InvalidRequestError.at("/alternatives", detail)
        max_target_tokens = wanted.max_target_tokens
        options = SearchOptions(
            beam_size=beam_size,
            n_best=1 + wanted.alternatives,
            length_penalty=self._length_penalty(wanted.length_penalty),
            max_target_tokens=max_target_tokens and min(max_target_tokens, max_length),
            rule=self._config.search_rule,
        )
        return Reading(
            self._tokenizer,
            direction,
            max_length,
            options,
            wanted.split,
            wanted.glossary,
            self._speller,
            wanted.with_tokens,
            self._unknown,
        )

    def scoring_options(self, length_penalty: float | None) -> SearchOptions:
        """Return how to score a translation: as requested, else as in the checkpoint."""
        penalty = self._length_penalty(length_penalty)
        return SearchOptions(length_penalty=penalty, rule=self._config.search_rule)

    def attention_view(self, request: AttentionRequest) -> AttentionView:
        """Resolve a selection for this model. Raises `InvalidRequestError`."""
        return AttentionView(request, self._config.transformer)

    def _length_penalty(self, wanted: float | None) -> float:
        return self._config.length_penalty if wanted is None else wanted
