"""Selects the models of a text, detecting its language if necessary."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.languages.detection import PROCESS, DetectedLanguage
from app.languages.served import AUTO, Direction, Languages, fits, language_name
from app.shelf.slot import Lease
from app.translation.requests import TranslationOptions
from app.translation.segments.reading import Reading
from app.translation.served_model import KnownModel, ServedModel

TIMES_LIKELIER = 4
"""How much likelier another language must be than the source that the target implies."""

CACHED_PATHS = 1024
"""Pairs of requested languages whose path is cached."""

_TARGET_SYMBOL = re.compile(r"\s*(>>[^<>\s]+<<)\s*")


@dataclass(frozen=True, slots=True)
class Step:
    """A loaded model's part in a request."""

    model: ServedModel
    reading: Reading

    @property
    def direction(self) -> Direction:
        return self.reading.direction


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A model's part in a request, before the model is leased.

    models  those that translate the direction; the first that can be loaded is used
    """

    models: tuple[KnownModel, ...]
    direction: Direction
    options: TranslationOptions

    @property
    def model(self) -> KnownModel:
        """The model that is used, unless loading it fails."""
        return first_usable(self.models)

    def lease(self, deadline: float) -> Lease[ServedModel]:
        """Lease the model for a block; see `Lease`."""
        return Lease([model.slot for model in self.models], deadline)

    def with_model(self, model: ServedModel) -> Step:
        return Step(model, model.reading(self.direction, self.options))


@dataclass(frozen=True, slots=True)
class LanguagePath:
    """Source, an optional pivot, and target; one language if a text is already in its target.

    models  from each language to the next, the best first
    others  without any: a model that translates to the target
    """

    languages: tuple[str, ...]
    models: tuple[tuple[KnownModel, ...], ...]
    others: tuple[KnownModel, ...] = ()

    @property
    def name(self) -> str:
        used = [first_usable(models).name for models in self.models or [self.others]]
        return "+".join(dict.fromkeys(used))

    @property
    def is_direct(self) -> bool:
        return len(self.models) == 1

    @property
    def directions(self) -> list[Direction]:
        return list(pairwise(self.languages))

    @property
    def pairs(self) -> str:
        return " and ".join(f"{source} to {target}" for source, target in self.directions)

    def steps(self, options: TranslationOptions) -> list[PlannedStep]:
        """Return the options of each model: the last gets all, earlier ones their best hypothesis.

        The first applies the glossary's terms, and the second leaves them untranslated. Raises as
        `ModelProfile.beam_size`, before any model is loaded.
        """
        steps: list[PlannedStep] = []
        for models, direction in zip(self.models, self.directions, strict=True):
            own = options
            if len(steps) + 1 < len(self.models):
                own = replace(own, alternatives=0, max_target_tokens=None)
            if steps and options.glossary:
                own = replace(own, glossary=options.glossary.of_targets())
            steps.append(PlannedStep(models, direction, own))
            steps[-1].model.beam_size(own)  # raises for invalid alternatives
        return steps

    def sole_step(self, options: TranslationOptions) -> PlannedStep:
        """Return the only step. Raises `InvalidRequestError` if there are none or two."""
        if not self.models:
            raise InvalidRequestError.at("/text", "The text is already in the target language")
        if not self.is_direct:
            detail = f"Two models in sequence translate this; request {self.pairs} separately"
            raise InvalidRequestError.at("/target", detail)
        [step] = self.steps(options)
        return step


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A text's path; `detected` is its detected source, None without evidence."""

    path: LanguagePath
    detected: DetectedLanguage | None = None


class LanguagePaths:
    """Finds the language paths of a request's texts."""

    def __init__(self, models: Mapping[Direction, tuple[KnownModel, ...]]) -> None:
        self.languages = Languages(list(models))
        self._path = lru_cache(CACHED_PATHS)(partial(_path, models))
        self._chain = lru_cache(CACHED_PATHS)(self.languages.chain)
        self._typed_targets = {
            symbol: code
            for known in models.values()
            for model in known
            if model.config.marian_vocabulary
            for code, symbol in model.config.marian_vocabulary.target_symbols.items()
        }

    def typed_target(self, text: str) -> tuple[str, str] | None:
        """Return the target that a text names at its start, such as `>>fra<<`, and the rest.

        Users of OPUS-MT type the symbol of a model with several targets. None for other texts.
        """
        found = _TARGET_SYMBOL.match(text) if self._typed_targets else None
        target = self._typed_targets.get(found[1]) if found else None
        return (target, text[found.end() :]) if found and target else None

    def direct(self, source: str | None, target: str | None) -> LanguagePath:
        """Return the path of one model. Raises as `Languages.resolve`."""
        return self._path(self.languages.resolve(source, target))

    def named(self, source: str | None, target: str | None) -> LanguagePath | None:
        """Return the path that a request names; None if its source must be detected.

        An omitted source is detected if the server translates from several. Raises as
        `Languages.chain`, also if no source leads to the target.
        """
        is_implied = source is None and (target is None or len(self.languages.sources) == 1)
        if is_implied or (source is not None and source.lower() != AUTO):
            return self._path(self._chain(source, target))
        self._first(target)
        return None

    async def found(
        self, texts: Sequence[str], source: str | None, target: str | None
    ) -> list[FoundPath]:
        """Return the path of each text by its detected language. Raises as `Languages.chain`.

        If the source is omitted and a single one leads to the target, a text has that source
        unless another language is far likelier and leads to the target.
        """
        usual = self._usual(target) if source is None else None
        return [
            self._chosen(candidates, usual, target, index)
            for index, candidates in enumerate(await self.detect(texts))
        ]

    async def detect(self, texts: Sequence[str]) -> list[list[DetectedLanguage]]:
        """Return the possible languages of each text, best first; none without letters."""
        return await PROCESS.detect(texts, self.languages.codes)

    def _first(self, target: str | None) -> LanguagePath:
        """Return the path from the first source, if detection fails."""
        return self._path(self._chain(self.languages.first_source(target), target))

    def _usual(self, target: str | None) -> LanguagePath | None:
        """Return the path from the only source that leads to a target, None if there are more."""
        try:
            return self._path(self._chain(None, target))
        except InvalidRequestError:
            return None

    def _chosen(
        self,
        candidates: Sequence[DetectedLanguage],
        usual: LanguagePath | None,
        target: str | None,
        index: int,
    ) -> FoundPath:
        if not candidates:
            return FoundPath(usual or self._first(target))
        [best, *_] = candidates
        if usual:
            likely = {one.language: one.confidence for one in candidates}
            if best.confidence < TIMES_LIKELIER * likely.get(usual.languages[0], 0.0):
                return FoundPath(usual)
        try:
            return self._from(best, target, index)
        except UnknownLanguagesError:
            if usual is None:
                raise
            return FoundPath(usual, best)

    def _from(self, found: DetectedLanguage, target: str | None, index: int) -> FoundPath:
        if fits(target, found.language):
            return FoundPath(self._path((found.language,)), found)
        try:
            return FoundPath(self._path(self._chain(found.language, target)), found)
        except UnknownLanguagesError as error:
            language = f"{language_name(found.language)} ({found.language})"
            raise UnknownLanguagesError(
                f"text {index} seems to be in {language}; {self.languages.known}",
                found.language,
                target,
                error.wrong,
            ) from None


def first_usable(models: Sequence[KnownModel]) -> KnownModel:
    """Return the first model that has not failed to load; the first if all have."""
    return min(models, key=lambda model: model.slot.failure is not None)


def _path(
    known: Mapping[Direction, tuple[KnownModel, ...]], languages: tuple[str, ...]
) -> LanguagePath:
    others = next(models for (_, target), models in known.items() if target == languages[-1])
    return LanguagePath(languages, tuple(known[pair] for pair in pairwise(languages)), others)
