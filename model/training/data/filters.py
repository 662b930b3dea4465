"""Selects the pairs of a corpus to train on, and counts the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from hashlib import blake2b

from pydantic import BaseModel, ConfigDict, Field

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
