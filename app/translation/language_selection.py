"""Which languages a text passes through; its own may have to be detected first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.errors import UnknownLanguagesError
from app.text.language_detection import Detected, LanguageDetector
from app.text.languages import NAMES, Languages, fits

AUTO = "auto"
"""The source of a request whose texts' languages are to be found out."""

MAX_INLINE_TEXTS = 4
"""Finding out so many texts' languages takes two milliseconds."""


@dataclass(frozen=True, slots=True)
class Itinerary:
    """Source, perhaps a pivot, and target; one language alone if the text is in it already.

    detected  what the source was found to be; None if it was said, or there was nothing to go by
    """

    languages: tuple[str, ...]
    detected: Detected | None = None


class Itineraries:
    """Finds those of a request's texts."""

    def __init__(self, languages: Languages) -> None:
        self._languages = languages
        self._detector = LanguageDetector(languages.codes)

    async def detect(self, texts: Sequence[str]) -> list[list[Detected]]:
        """Of every text the languages that it may be in, as `LanguageDetector.detect`."""
        if len(texts) <= MAX_INLINE_TEXTS:
            return [self._detector.detect(text) for text in texts]
        return await asyncio.to_thread(lambda: [self._detector.detect(text) for text in texts])

    async def find(
        self, source: str | None, target: str | None, n_texts: int, prose: Callable[[], list[str]]
    ) -> list[Itinerary]:
        """One for each text, whose words `prose` has if they are needed. Raises as `chain`."""
        if source is None or source.lower() != AUTO:
            return [Itinerary(self._languages.chain(source, target))] * n_texts
        first = self._languages.chain(self._languages.first_source(target), target)
        return [
            self._from(candidates[0], target, index) if candidates else Itinerary(first)
            for index, candidates in enumerate(await self.detect(prose()))
        ]

    def _from(self, found: Detected, target: str | None, index: int) -> Itinerary:
        if fits(target, found.language):
            return Itinerary((found.language,), found)
        try:
            return Itinerary(self._languages.chain(found.language, target), found)
        except UnknownLanguagesError:
            name = NAMES.get(found.language)
            called = f"{name} ({found.language})" if name else found.language
            raise UnknownLanguagesError(
                f"text {index} seems to be in {called}; {self._languages.known}"
            ) from None
