"""One checkpoint in service, and how it reads and searches for what requests ask for."""

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
from app.translation.glossary_constraints import TermSpeller
from app.translation.scorer import Scorer
from app.translation.segmented_text import Reading
from app.wire.native.translate_request import AttentionRequest
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.golden import GoldenSentence
from model.decoding.hypothesis import SearchOptions
from model.text.text_codec import TextCodec
from model.transformer.config import TransformerConfig

WARM_UP_TOKENS = 16
"""At most, for a full stop: a checkpoint that does not know when to end should not hold up a start,
nor be taken for as slow as that would make it look."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client asks of a translation; what is left out the checkpoint chooses.

    with_tokens  whether the places of tokens will be asked for
    """

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    max_target_tokens: int | None = None
    split: Split = "sentences"
    glossary: Glossary = NO_GLOSSARY
    with_tokens: bool = False


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
        self._speller = TermSpeller(tokenizer)
        self.golden = golden
        self.explainer = Explainer(config, tokenizer, scheduler)
        self.scorer = Scorer(tokenizer, scheduler, config.transformer.max_length)
        self.scheduler = scheduler

    @property
    def name(self) -> str:
        """What the API calls it."""
        return self._config.name

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
        reading = self.reading(self.directions[0], Wanted(max_target_tokens=WARM_UP_TOKENS))
        await self.scheduler.translate([reading.segment(Span(0, 1), ".", [], family=0)])
        self.scheduler.forget_pace()

    def reading(self, direction: Direction, wanted: Wanted) -> Reading:
        """How texts are read and searched for: as asked, else as the checkpoint says.

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
        )

    def scoring_options(self, length_penalty: float | None) -> SearchOptions:
        """How a given translation is scored: as asked, else as the checkpoint says."""
        penalty = self._length_penalty(length_penalty)
        return SearchOptions(length_penalty=penalty, rule=self._config.search_rule)

    def attention_view(self, request: AttentionRequest) -> AttentionView:
        """The selection as this model has it. Raises `InvalidRequestError`."""
        return AttentionView(request, self._config.transformer)

    def _length_penalty(self, wanted: float | None) -> float:
        return self._config.length_penalty if wanted is None else wanted
