"""A checkpoint in service: its profile, and how it prepares texts and searches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from app.errors import InvalidRequestError
from app.languages.served import Direction
from app.scheduling.scheduler import Scheduler
from app.shelf.slot import ModelSlot
from app.text.spans import Span
from app.translation.explainer import Explainer
from app.translation.requests import TranslationOptions
from app.translation.scorer import Scorer
from app.translation.segments.reading import Reading, TermSpeller
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.golden import GoldenSentence
from model.decoding.hypothesis import SearchOptions
from model.decoding.shortlist import Shortlist
from model.engine.protocol import EngineInfo
from model.text.text_codec import TextCodec
from model.text.unknown_characters import UnknownCharacters

STOP_SECONDS = 1.0
"""Seconds to wait for an idle engine to stop; one that hangs is abandoned."""

WARM_UP_TOKENS = 16
"""Limit for warming up: a checkpoint that never ends a sentence should not delay the start."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a model for GET /info; `digest` is None until the first load."""

    parameters: int
    engine: EngineInfo
    digest: str | None = None


class ModelProfile:
    """The properties of a model that its configuration determines."""

    def __init__(self, config: CheckpointConfig, shortlist: Shortlist | None = None) -> None:
        self.config = config
        self._shortlist = shortlist
        self.name = config.name  # in the API
        self.transformer_config = config.transformer
        self.directions = config.directions

    def beam_size(self, options: TranslationOptions) -> int:
        """Return the number of beams. Raises `InvalidRequestError` if alternatives need more."""
        draws = options.generation.temperature > 0
        beam_size = options.beam_size or (1 if draws else self.config.beam_size)
        if draws and beam_size > 1:
            raise InvalidRequestError.at("/temperature", "Tokens are drawn with a beam_size of 1")
        if options.alternatives >= beam_size:
            detail = f"Input should be less than beam_size, which is {beam_size}"
            raise InvalidRequestError.at("/alternatives", detail)
        return beam_size

    def search_options(self, options: TranslationOptions, target: str) -> SearchOptions:
        """Return how to search for a target language. Raises as `beam_size`."""
        max_target_tokens = options.max_target_tokens
        uses_shortlist = options.shortlist
        if uses_shortlist is None:
            uses_shortlist = self.config.shortlist
        return replace(
            self.scoring_options(target, options.length_penalty),
            shortlist=self._shortlist if uses_shortlist else None,
            processors=options.generation.processors(self.config.logits_processors),
            temperature=options.generation.temperature,
            seed=options.generation.seed,
            beam_size=self.beam_size(options),
            n_best=1 + options.alternatives,
            max_target_tokens=max_target_tokens
            and min(max_target_tokens, self.config.transformer.max_length),
        )

    def scoring_options(self, target: str, length_penalty: float | None) -> SearchOptions:
        """Return how to score a translation."""
        return SearchOptions(
            length_penalty=self.config.length_penalty if length_penalty is None else length_penalty,
            rule=self.config.search_rule,
            first_id=self.config.first_id(target),
            processors=self.config.logits_processors,
        )


class ServedModel(ModelProfile):
    """A loaded checkpoint with its engines.

    prepare       called once its engines run; raises if it is not fit for service
    n_text_bytes  memory of its vocabulary, approximately
    """

    def __init__(
        self,
        config: CheckpointConfig,
        tokenizer: TextCodec,
        scheduler: Scheduler,
        golden: Sequence[GoldenSentence] = (),
        *,
        facts: Facts,
        prepare: Callable[[ServedModel], Awaitable[None]],
        n_text_bytes: int = 0,
        shortlist: Shortlist | None = None,
    ) -> None:
        super().__init__(config, shortlist)
        self._tokenizer = tokenizer
        self._speller = TermSpeller(tokenizer)
        self._unknown = UnknownCharacters(tokenizer)
        self._prepare = prepare
        self._n_text_bytes = n_text_bytes
        self.facts = facts
        self.golden = golden
        self.explainer = Explainer(config, tokenizer, scheduler.explanations)
        self.scorer = Scorer(tokenizer, scheduler.explanations, config.transformer.max_length)
        self.scheduler = scheduler

    @property
    def n_bytes(self) -> int:
        """Memory of weights, engines, cached sentences and vocabulary."""
        return self.scheduler.n_bytes + self._n_text_bytes

    @property
    def works(self) -> bool:
        return self.scheduler.alive

    async def start(self) -> None:
        """Start its engines and prepare it for service. Raises as `prepare`."""
        self.scheduler.start()
        await self._prepare(self)

    async def stop(self) -> None:
        """Finish submitted searches, and stop the engines."""
        await self.scheduler.stop(STOP_SECONDS)

    async def warm_up(self) -> None:
        """Translate one text, so that lazy initialisation does not slow down the first request."""
        options = TranslationOptions(max_target_tokens=WARM_UP_TOKENS)
        reading = self.reading(self.directions[0], options)
        await self.scheduler.search([reading.segment(Span(0, 1), ".", [])])
        self.scheduler.forget_pace()

    def reading(self, direction: Direction, options: TranslationOptions) -> Reading:
        """Return how to prepare and search texts. Raises as `beam_size`."""
        return Reading(
            self._tokenizer,
            direction,
            self.config.transformer.max_length,
            self.search_options(options, direction[1]),
            options.split,
            options.glossary,
            self._speller,
            options.with_tokens,
            self._unknown,
        )


class KnownModel(ModelProfile):
    """A model of the server, loaded or not.

    slot      where it is, or will be, loaded
    key       equal for equal content: a reload keeps a loaded model by it; None if it always loads
    expected  facts until it was loaded
    """

    def __init__(
        self,
        config: CheckpointConfig,
        slot: ModelSlot[ServedModel],
        expected: Facts,
        key: Hashable = None,
    ) -> None:
        super().__init__(config)
        self.slot = slot
        self.key = key
        self._facts = expected

    @property
    def facts(self) -> Facts:
        """Return the facts of the last load, else the expected ones."""
        if self.slot.model is not None:
            self._facts = self.slot.model.facts
        return self._facts
