"""Stored glossaries in DeepL's dialect, version 3, on the wire: a dictionary per language pair."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field

from app.accounts.glossary_store import StoredDictionary, StoredGlossary
from app.errors import InvalidRequestError
from app.wire.dialects.deepl_glossaries import DictionaryRequest, Name
from app.wire.dialects.lenient_request import LenientRequest

MAX_DICTIONARIES = 1000
"""In one request."""

_MEMBER = re.compile(r"dictionaries\[([0-9]{1,4})\]\.(\w{1,20})", re.ASCII)
"""How forms name the fields of a dictionary: `dictionaries[0].source_lang`."""

Dictionaries = Annotated[tuple[DictionaryRequest, ...], Field(max_length=MAX_DICTIONARIES)]


class _GlossaryRequest(LenientRequest):
    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data, from a form too. Raises `InvalidRequestError`."""
        if isinstance(values, dict):
            values = _nested(values)
        return super().parse(values)


class MultilingualGlossaryRequest(_GlossaryRequest):
    """The body of POST /v3/glossaries, as JSON or a form. Unknown fields are ignored."""

    name: Name
    dictionaries: Dictionaries = ()


class GlossaryChanges(_GlossaryRequest):
    """The body of PATCH /v3/glossaries/{glossary_id}, as JSON or a form.

    Entries are added to the glossary's; those of the same source terms are replaced.
    """

    name: Name | None = None
    dictionaries: Dictionaries = ()

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data, from a form too. Raises `InvalidRequestError`."""
        changes = super().parse(values)
        if changes.name is None and not changes.dictionaries:
            raise InvalidRequestError.at("", "There should be name or dictionaries")
        return changes


class DictionaryInfo(BaseModel):
    """A dictionary without its entries."""

    source_lang: str = Field(examples=["en"])
    target_lang: str = Field(examples=["fr"])
    entry_count: int

    @classmethod
    def of(cls, stored: StoredDictionary) -> Self:
        """Convert to this dialect."""
        return cls(
            source_lang=stored.source, target_lang=stored.target, entry_count=stored.n_entries
        )


class MultilingualGlossary(BaseModel):
    """A glossary with its dictionaries, without their entries."""

    glossary_id: str
    name: str
    creation_time: datetime
    dictionaries: list[DictionaryInfo]

    @classmethod
    def of(cls, stored: StoredGlossary) -> Self:
        """Convert to this dialect."""
        return cls(
            glossary_id=stored.id,
            name=stored.name,
            creation_time=stored.created,
            dictionaries=list(map(DictionaryInfo.of, stored.dictionaries)),
        )


class MultilingualGlossaries(BaseModel):
    """The response of GET /v3/glossaries."""

    glossaries: list[MultilingualGlossary]

    @classmethod
    def of(cls, stored: Iterable[StoredGlossary]) -> Self:
        """Convert to this dialect."""
        return cls(glossaries=list(map(MultilingualGlossary.of, stored)))


class DictionaryEntries(BaseModel):
    """A dictionary with its entries."""

    source_lang: str = Field(examples=["en"])
    target_lang: str = Field(examples=["fr"])
    entries: str = Field(examples=["house\tdemeure"])
    entries_format: Literal["tsv"] = "tsv"


class GlossaryEntriesAnswer(BaseModel):
    """The response of GET /v3/glossaries/{glossary_id}/entries."""

    dictionaries: list[DictionaryEntries]


def _nested(values: dict[str, object]) -> dict[str, object]:
    """Collect the fields that a form names `dictionaries[0].source_lang` in a list of objects."""
    found: dict[int, dict[str, object]] = {}
    for name, value in values.items():
        if member := _MEMBER.fullmatch(name):
            found.setdefault(int(member[1]), {})[member[2]] = value
    if not found or "dictionaries" in values:
        return values
    return values | {"dictionaries": [found[index] for index in sorted(found)]}
