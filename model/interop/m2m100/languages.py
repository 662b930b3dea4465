"""The languages of M2M-100, WMT21 and NLLB: their tokens, ids and API codes."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from model.errors import CheckpointError
from model.interop.m2m100.fast_tokenizer import FAST_TOKENIZER_FILE
from model.text.language_codes import standard_code

ADDED_TOKENS_FILE = "added_tokens.json"
SPECIAL_TOKENS_FILE = "special_tokens_map.json"
TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
LANGUAGE_FILES = (
    TOKENIZER_CONFIG_FILE, ADDED_TOKENS_FILE, SPECIAL_TOKENS_FILE, FAST_TOKENIZER_FILE,
)  # fmt: skip

LISTS: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Codes in the order of their ids, by `language_codes` of tokenizer_config.json; NLLB's too."""

_M2M100_TOKEN = re.compile(r"__([a-z]{2,3}(?:_[A-Za-z]+)?)__")
_NLLB_TOKEN = re.compile(r"([a-z]{3})_([A-Z][a-z]{3})")


def language_tokens(
    files: Mapping[str, Mapping[str, Any]], n_pieces: int, *, listed: bool
) -> dict[str, tuple[str, int]]:
    """Return API code → token and id for every language of a folder.

    files     the files of `LANGUAGE_FILES` that the folder has
    n_pieces  the id of the first language, unless the files define ids
    listed    whether it is M2M-100 instead of NLLB

    Raises `CheckpointError`.
    """
    if listed:
        kind = files.get(TOKENIZER_CONFIG_FILE, {}).get("language_codes", "m2m100")
        if kind not in ("m2m100", "wmt21"):
            raise CheckpointError(
                f"{TOKENIZER_CONFIG_FILE}: language_codes {kind!r}; attend knows 'm2m100', 'wmt21'"
            )
        tokens = [f"__{code}__" for code in LISTS[kind]]
        pattern = _M2M100_TOKEN
    else:
        tokens, pattern = _named_tokens(files) or LISTS["nllb"], _NLLB_TOKEN
    stated = _stated_ids(files)
    ids = {token: stated.get(token, n_pieces + index) for index, token in enumerate(tokens)}
    ids |= {token: stated[token] for token in stated if pattern.fullmatch(token)}
    codes = codes_of_tokens(ids)
    return {code: (token, ids[token]) for code, token in codes.items()}


def codes_of_tokens(tokens: Iterable[str]) -> dict[str, str]:
    """Return API code → token, such as `fr` → `__fr__` or `fra_Latn`.

    A code has no script unless the vocabulary has the language in several.
    """
    parts: dict[str, tuple[str, str | None]] = {}
    for token in tokens:
        if found := _NLLB_TOKEN.fullmatch(token):
            parts[token] = standard_code(found[1]), found[2]
        elif found := _M2M100_TOKEN.fullmatch(token):
            parts[token] = standard_code(found[1]), None
    scripts: dict[str, set[str | None]] = {}
    for language, script in parts.values():
        scripts.setdefault(language, set()).add(script)
    codes: dict[str, str] = {}
    for token, (language, script) in parts.items():
        code = f"{language}-{script}" if script and len(scripts[language]) > 1 else language
        if code in codes:  # two languages of one macrolanguage
            code = token.strip("_").replace("_", "-")
        codes[code] = token
    return codes


def _named_tokens(files: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return NLLB's languages in the order of their ids, if the files list them."""
    for name in (TOKENIZER_CONFIG_FILE, SPECIAL_TOKENS_FILE):
        for key in ("additional_special_tokens", "extra_special_tokens"):
            found = files.get(name, {}).get(key)
            tokens = [
                str(one.get("content") if isinstance(one, dict) else one)
                for one in (found if isinstance(found, list) else [])
            ]
            if named := [token for token in tokens if _NLLB_TOKEN.fullmatch(token)]:
                return named
    return []


def _stated_ids(files: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return token → id for the tokens that the files add to the pieces."""
    added = files.get(TOKENIZER_CONFIG_FILE, {}).get("added_tokens_decoder")
    listed = files.get(FAST_TOKENIZER_FILE, {}).get("added_tokens")
    pairs: list[tuple[object, object]] = [
        *(
            (one.get("content"), int(index))
            for index, one in (added if isinstance(added, dict) else {}).items()
            if isinstance(one, dict) and index.isdecimal()
        ),
        *files.get(ADDED_TOKENS_FILE, {}).items(),
        *(
            (one.get("content"), one.get("id"))
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, dict)
        ),
    ]
    return {token: index for token, index in pairs if isinstance(token, str) and type(index) is int}
