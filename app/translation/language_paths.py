"""Which models a text goes through, where its own language may have to be found out first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.text.language_detection import Detected, LanguageDetector
from app.text.languages import NAMES, Direction, Languages, fits
from app.translation.segmented_text import Reading
from app.translation.served_model import ServedModel, Wanted

AUTO = "auto"
"""The source of a request whose texts' languages are to be found out."""

MAX_INLINE_TEXTS = 4
"""Finding out so many texts' languages takes two milliseconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model's part in a request."""

    model: ServedModel
    reading: Reading

    @property
    def direction(self) -> Direction:
        """The languages that it translates from and to."""
        return self.reading.direction


@dataclass(frozen=True, slots=True)
class LanguagePath:
    """Source, perhaps a pivot, and target; one language alone if a text is in its target already.

    models  from each language to the next
    name    of the models; without any, of one that translates to the target
    """

    languages: tuple[str, ...]
    models: tuple[ServedModel, ...]
    name: str

    @property
    def is_direct(self) -> bool:
        """Whether one model translates."""
        return len(self.models) == 1

    @property
    def directions(self) -> list[Direction]:
        """Of the models."""
        return list(pairwise(self.languages))

    def steps(self, wanted: Wanted) -> list[Step]:
        """What is asked of each model: all of the last, while those before give their best.

        The first says the glossary's terms, and the second leaves them as they are. Raises as
        `ServedModel.reading`.
        """
        steps: list[Step] = []
        for model, direction in zip(self.models, self.directions, strict=True):
            here = wanted
            if len(steps) + 1 < len(self.models):
                here = replace(here, alternatives=0, max_target_tokens=None)
            if steps and wanted.glossary:
                here = replace(here, glossary=wanted.glossary.of_what_is_said())
            steps.append(Step(model, model.reading(direction, here)))
        return steps

    def sole_step(self, wanted: Wanted) -> Step:
        """The one that there is. Raises `InvalidRequestError` where there are none or two."""
        if not self.models:
            raise InvalidRequestError.at("/text", "The text is in the target language already")
        if not self.is_direct:
            pairs = " and ".join(f"{source} to {target}" for source, target in self.directions)
            detail = f"Two models translate this, one after the other; ask for {pairs}, one by one"
            raise InvalidRequestError.at("/target", detail)
        [step] = self.steps(wanted)
        return step


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A text's path; `detected`: its source as it was found, None if there was nothing to go by."""

    path: LanguagePath
    detected: Detected | None = None


class LanguagePaths:
    """Finds those of a request's texts."""

    def __init__(self, models: Mapping[Direction, ServedModel]) -> None:
        self._models = models
        self.languages = Languages(list(models))
        self._detector = LanguageDetector(self.languages.codes)

    def direct(self, source: str | None, target: str | None) -> LanguagePath:
        """Of one model. Raises as `Languages.resolve`."""
        return self._path(self.languages.resolve(source, target))

    def named(self, source: str | None, target: str | None) -> LanguagePath | None:
        """The path that a request names; None if its source is to be found out.

        Raises as `Languages.chain`, also where no source leads to the target.
        """
        if source is None or source.lower() != AUTO:
            return self._path(self.languages.chain(source, target))
        self._first(target)
        return None

    async def found(self, texts: Sequence[str], target: str | None) -> list[FoundPath]:
        """One for each text, by the language that it is in. Raises as `Languages.chain`."""
        return [
            self._from(candidates[0], target, index)
            if candidates
            else FoundPath(self._first(target))
            for index, candidates in enumerate(await self.detect(texts))
        ]

    async def detect(self, texts: Sequence[str]) -> list[list[Detected]]:
        """Of every text the languages that it may be in, as `LanguageDetector.detect`."""
        if len(texts) <= MAX_INLINE_TEXTS:
            return [self._detector.detect(text) for text in texts]
        return await asyncio.to_thread(lambda: [self._detector.detect(text) for text in texts])

    def _first(self, target: str | None) -> LanguagePath:
        """Where nothing is found, the first source is taken."""
        return self._path(self.languages.chain(self.languages.first_source(target), target))

    def _from(self, found: Detected, target: str | None, index: int) -> FoundPath:
        if fits(target, found.language):
            return FoundPath(self._path((found.language,)), found)
        try:
            return FoundPath(self._path(self.languages.chain(found.language, target)), found)
        except UnknownLanguagesError:
            name = NAMES.get(found.language)
            called = f"{name} ({found.language})" if name else found.language
            raise UnknownLanguagesError(
                f"text {index} seems to be in {called}; {self.languages.known}"
            ) from None

    def _path(self, languages: tuple[str, ...]) -> LanguagePath:
        models = tuple(self._models[pair] for pair in pairwise(languages))
        names = [model.name for model in models] or [
            model.name for (_, target), model in self._models.items() if target == languages[0]
        ][:1]
        return LanguagePath(languages, models, "+".join(dict.fromkeys(names)))
