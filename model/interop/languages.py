"""The directions of an imported model: from its vocabulary, folder, card and the options."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from model.checkpoint.config import AnyPair, Direction
from model.errors import CheckpointError
from model.text.language_codes import codes_of_symbols, standard_code
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


def select_pairs(
    origin: str, known: Sequence[str], languages: Languages
) -> list[Direction] | AnyPair:
    """Return all pairs of languages, or those between the given sources and targets.

    Raises `CheckpointError`.
    """
    for side, codes in (("source", languages.sources), ("target", languages.targets)):
        if unknown := [code for code in codes if code not in known]:
            raise CheckpointError(
                f"{origin}: no {side} language {unknown[0]!r}; there are: {', '.join(known)}"
            )
    if not languages.sources and not languages.targets:
        return AnyPair(tuple(known))
    sources, targets = languages.sources or known, languages.targets or known
    pairs = all_pairs(origin, sources, targets)
    if len(sources) > 1 and set(sources) == set(targets):
        return AnyPair(tuple(dict.fromkeys(sources)))
    return pairs


CARD_FILE = "README.md"
_FENCE = "---"

GROUPS = frozenset({
    "aav", "afa", "alv", "art", "ber", "bat", "bnt", "cau", "cel", "cpf", "cpp", "crp", "cus",
    "dra", "euq", "fiu", "gem", "gmq", "gmw", "grk", "iir", "inc", "ine", "ira", "itc", "kar",
    "map", "mkh", "mul", "myn", "nah", "nic", "phi", "poz", "pqe", "pqw", "roa", "sal", "sem",
    "sit", "sla", "smi", "ssa", "syn", "taw", "trk", "tup", "tut", "urj", "wen", "zhx", "zle",
    "zls", "zlw",
})  # fmt: skip
"""Codes of ISO 639-5 that OPUS-MT uses as a language, such as `gmq`, North Germanic."""


def languages_of_card(folder: Path) -> list[str]:
    """Return the codes under `language` in the head of README.md, of both sides, without groups.

    The list is empty if the head is missing or damaged.
    """
    try:
        _, head, _ = (folder / CARD_FILE).read_text("utf-8").split(f"{_FENCE}\n", 2)
        # As strings: `no`, Norwegian, would be false.
        values = yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506
    except (OSError, ValueError, yaml.YAMLError):
        return []
    listed = values.get("language") if isinstance(values, dict) else None
    names = listed if isinstance(listed, list) else [listed]
    codes = [standard_code(name) for name in names if isinstance(name, str) and name]
    return list(dict.fromkeys(code for code in codes if code not in GROUPS))
