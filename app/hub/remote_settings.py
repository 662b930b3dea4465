"""Reads the records of Firefox's own service for its translation models (Remote Settings).

One record describes one file of a version of a model. Versions have a major number of 3: the same
files, compressed with zstd.
"""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, Field

SERVICE = "https://firefox.settings.services.mozilla.com/"
FILES = "https://firefox-settings-attachments.cdn.mozilla.net"

_STATUSES = {
    "": "Release",
    "env.appinfo.OS == 'Android'": "Release Android",
    "env.appinfo.OS != 'Android'": "Release Desktop",
}
"""Statuses by the expression that selects installations of Firefox."""

_PARTS = {
    "model": "model", "lex": "lexicalShortlist", "vocab": "vocab", "srcvocab": "srcVocab",
    "trgvocab": "trgVocab",
}  # fmt: skip
"""Names in the registry by `fileType`; others, such as quality models, are not used."""


class _Attachment(BaseModel):
    location: str
    filename: str


class _Record(BaseModel):
    source: str = Field(alias="sourceLanguage")
    target: str = Field(alias="targetLanguage")
    architecture: str
    version: str = Field(pattern=r"^\d{1,9}(\.\d{1,9})*")
    kind: str = Field(alias="fileType")
    filter: str = Field("", alias="filter_expression")
    variant: str | None = None
    size: int | None = Field(None, alias="decompressedSize")
    digest: str | None = Field(None, alias="decompressedHash")
    attachment: _Attachment

    @property
    def order(self) -> tuple[list[int], bool]:
        """Sort key by version; a beta precedes its release."""
        numbers, rest = re.match(r"([\d.]+)(.*)", self.version).groups()  # type: ignore[union-attr]
        return [int(one) for one in numbers.split(".") if one], not rest


class _Records(BaseModel):
    data: list[_Record]


def as_list(values: dict[str, Any]) -> dict[str, Any]:
    """Return the records as a registry's list, with the newest version of each model.

    Raises `pydantic.ValidationError`.
    """
    records = [one for one in _Records.model_validate(values).data if one.kind in _PARTS]
    models: dict[tuple[str | None, ...], list[_Record]] = {}
    for one in sorted(records, key=lambda one: one.order, reverse=True):
        key = (one.source, one.target, one.architecture, one.variant, one.filter)
        models.setdefault(key, []).append(one)
    listed: dict[str, list[dict[str, Any]]] = {}
    for files in models.values():
        newest = next((one for one in files if one.kind == "model"), None)
        if newest:
            entry = _entry(newest, (one for one in files if one.version == newest.version))
            listed.setdefault(f"{newest.source}-{newest.target}", []).append(entry)
    return {"baseUrl": FILES, "models": listed}


def _entry(model: _Record, files: Iterable[_Record]) -> dict[str, Any]:
    return {
        "architecture": model.architecture,
        "releaseStatus": _STATUSES.get(model.filter, "Nightly"),
        "sourceLanguage": model.source,
        "targetLanguage": model.target,
        "files": {
            _PARTS[one.kind]: {
                "path": one.attachment.location,
                "published": one.attachment.filename,
                "uncompressedSize": one.size,
                "uncompressedHash": one.digest,
            }
            for one in files
        },
    }
