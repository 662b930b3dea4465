"""Selects the pairs of a corpus to train on, and counts the others."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b

from lingua import IsoCode639_1, Language, LanguageDetector, LanguageDetectorBuilder
from pydantic import BaseModel, ConfigDict, Field

from model.errors import ConfigError

_MIN_RATIO_CHARACTERS = 20
"""Below this length of the longer side, the ratio is ignored."""


class FilterConfig(BaseModel):
    """The filters of all corpora. Pairs with an empty side are always dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    max_ratio: float = Field(
        0.0, ge=0, description="drop pairs with one side this many times as long; 0: keep"
    )
    max_characters: int = Field(0, ge=0, description="drop pairs with a longer side; 0: keep")
    identical: bool = Field(False, description="drop pairs with identical sides")
    held_out: bool = Field(
        False, description="drop pairs with a side that occurs in a validation file"
    )
    duplicates: bool = Field(False, description="drop repetitions of a pair in any corpus")
    language: bool = Field(
        False, description="drop pairs with a side in another language of the recipe"
    )


@dataclass
class FilterCounts:
    """Numbers of pairs of one corpus: kept, or dropped by the filter of that name.

    held_out    a side occurs in a validation file
    max_length  more tokens than the recipe's `max_length`; counted when a run starts
    """

    read: int = 0
    kept: int = 0
    empty: int = 0
    ratio: int = 0
    characters: int = 0
    identical: int = 0
    held_out: int = 0
    duplicates: int = 0
    language: int = 0
    max_length: int = 0

    @property
    def dropped(self) -> dict[str, int]:
        """Counts by reason, without zeros."""
        counts = asdict(self)
        return {name: n for name, n in counts.items() if n and name not in ("read", "kept")}

    def __str__(self) -> str:
        """`1,000 pairs, 990 kept (dropped: 10 empty)`."""
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
        return f"{self.read:,} pairs, {self.kept:,} kept" + (
            f" (dropped: {reasons})" * bool(reasons)
        )


class PairFilter:
    """Applies the filters of a recipe to its corpora, one after the other."""

    def __init__(self, config: FilterConfig, held_out: Collection[str] = frozenset()) -> None:
        """`held_out` are the sentences of the validation files, if that filter is set."""
        self._config = config
        self._held_out = held_out
        self._seen: set[bytes] = set()

    def keep(self, pairs: Iterable[tuple[str, str]], counts: FilterCounts) -> list[tuple[str, str]]:
        """Return the pairs to train on, and add up `counts`."""
        kept = []
        for pair in pairs:
            counts.read += 1
            if reason := self._reason(*pair):
                setattr(counts, reason, getattr(counts, reason) + 1)
            else:
                kept.append(pair)
        counts.kept += len(kept)
        return kept

    def _reason(self, first: str, second: str) -> str | None:
        config = self._config
        lengths = sorted((len(first), len(second)))
        if not (first.strip() and second.strip()):
            return "empty"
        if config.max_characters and lengths[1] > config.max_characters:
            return "characters"
        if config.max_ratio and lengths[1] > max(
            _MIN_RATIO_CHARACTERS, config.max_ratio * lengths[0]
        ):
            return "ratio"
        if config.identical and first == second:
            return "identical"
        if first in self._held_out or second in self._held_out:
            return "held_out"
        if config.duplicates:
            key = blake2b(f"{first}\t{second}".encode(), digest_size=8).digest()
            if key in self._seen:
                return "duplicates"
            self._seen.add(key)
        return None


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
