"""Detects pairs with a side in the wrong language, with lingua."""

from __future__ import annotations

from collections.abc import Sequence

from lingua import IsoCode639_1, Language, LanguageDetector, LanguageDetectorBuilder

from model.errors import ConfigError

_MIN_CHARACTERS = 20
"""Shorter texts are not checked."""

_CHUNK_PAIRS = 10_000


def in_other_language(pairs: Sequence[tuple[str, str]], languages: tuple[str, str]) -> list[bool]:
    """Return for each pair whether a side is in the language of the other, swapped or copied.

    Raises `ConfigError` if lingua does not know both languages.
    """
    first, second = (_language(code) for code in languages)
    detector = (
        LanguageDetectorBuilder.from_languages(first, second).with_low_accuracy_mode().build()
    )
    found: list[bool] = []
    for start in range(0, len(pairs), _CHUNK_PAIRS):
        part = pairs[start : start + _CHUNK_PAIRS]
        firsts, seconds = (_detected(detector, [pair[side] for pair in part]) for side in (0, 1))
        found += [
            one == second or other == first for one, other in zip(firsts, seconds, strict=True)
        ]
    return found


def _detected(detector: LanguageDetector, texts: list[str]) -> list[Language | None]:
    languages = detector.detect_languages_in_parallel_of(texts)
    return [
        language if len(text) >= _MIN_CHARACTERS else None
        for language, text in zip(languages, texts, strict=True)
    ]


def _language(code: str) -> Language:
    try:
        return Language.from_iso_code_639_1(IsoCode639_1.from_str(code.partition("-")[0].upper()))
    except ValueError:
        raise ConfigError(
            f"filters.language: '{code}' is not a language that lingua knows"
        ) from None
