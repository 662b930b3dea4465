"""The directions of an imported model: from its vocabulary, its folder and the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.errors import CheckpointError
from model.text.language_codes import codes_of_symbols
from model.text.marian_tokenizer import symbols


@dataclass(frozen=True)
class Languages:
    """API codes; empty if not given."""

    sources: Sequence[str] = ()
    targets: Sequence[str] = ()


NOT_GIVEN = Languages()


def directions(
    origin: str, source_pieces: Sequence[str], languages: Languages
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return (source, target) pairs, and the symbol of each target if the vocabulary has symbols.

    Targets default to all symbols. Raises `CheckpointError`.
    """
    known = codes_of_symbols(symbols(source_pieces))
    targets = languages.targets or list(known)
    for option, codes in (("--source", languages.sources), ("--target", targets)):
        if not codes:
            raise CheckpointError(
                f"{origin}: does not declare its languages; use `attend import marian {option}`"
            )
    if unknown := [code for code in targets if known and code not in known]:
        raise CheckpointError(
            f"{origin}: no symbol for {unknown[0]!r}; there are: {', '.join(known)}"
        )
    pairs = all_pairs(origin, languages.sources, targets)
    return pairs, {code: known[code] for code in targets if known}


def all_pairs(origin: str, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str]]:
    """Return each source with each other target. Raises `CheckpointError` if there is none."""
    pairs = dict.fromkeys(
        (source, target) for source in sources for target in targets if source != target
    )
    if not pairs:
        raise CheckpointError(f"{origin}: from {', '.join(sources)} to itself is no translation")
    return list(pairs)
