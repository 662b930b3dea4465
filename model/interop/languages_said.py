"""Which directions an imported model gets: by its symbols, its folder, and who imports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.errors import CheckpointError
from model.interop.language_codes import codes_of_symbols
from model.text.marian_tokenizer import symbols


@dataclass(frozen=True)
class Languages:
    """API codes; empty is what is not said."""

    sources: Sequence[str] = ()
    targets: Sequence[str] = ()


NOT_SAID = Languages()


def directions(
    origin: str, source_pieces: Sequence[str], languages: Languages
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """(source, target) pairs, and the symbol of each target where the vocabulary has symbols.

    Without a target said, those are all of them. Raises `CheckpointError`.
    """
    known = codes_of_symbols(symbols(source_pieces))
    targets = languages.targets or list(known)
    for option, codes in (("--source", languages.sources), ("--target", targets)):
        if not codes:
            raise CheckpointError(
                f"{origin}: does not say its languages; `attend import marian {option}` does"
            )
    if unknown := [code for code in targets if known and code not in known]:
        raise CheckpointError(
            f"{origin}: no symbol for {unknown[0]!r}; there are: {', '.join(known)}"
        )
    pairs = [
        (source, target) for source in languages.sources for target in targets if source != target
    ]
    if not pairs:
        raise CheckpointError(
            f"{origin}: from {', '.join(languages.sources)} to itself is no translation"
        )
    return list(dict.fromkeys(pairs)), {code: known[code] for code in targets if known}
