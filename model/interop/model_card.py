"""The languages that a model's card declares, for models whose source is a group of languages."""

from __future__ import annotations

from pathlib import Path

import yaml

from model.text.language_codes import standard_code

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
