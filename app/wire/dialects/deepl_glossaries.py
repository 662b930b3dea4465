"""Stored glossaries in DeepL's dialect on the wire.

In version 3 of the API, a glossary has a dictionary per language pair. Version 2 is a view of those
with one dictionary.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.accounts.glossary_entries import EntriesFormat
from app.accounts.glossary_store import StoredDictionary, StoredGlossary
from app.errors import InvalidRequestError, UnknownGlossaryError
from app.wire.native.fields import MAX_LANGUAGE_CODE, LenientRequest, without_surrogates

TSV = "text/tab-separated-values"
MAX_NAME = 1024

MAX_DICTIONARIES = 1000
"""In one request."""

_MEMBER = re.compile(r"dictionaries\[([0-9]{1,4})\]\.(\w{1,20})", re.ASCII)
"""How forms name the fields of a dictionary: `dictionaries[0].source_lang`."""


def _name(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(name := value.strip()) <= MAX_NAME:
        raise PydanticCustomError("name", f"Input should have 1 to {MAX_NAME} characters")
    return without_surrogates(name)


Name = Annotated[str, BeforeValidator(_name), Field(min_length=1, max_length=MAX_NAME)]


class DictionaryLanguages(LenientRequest):
    """The languages of a dictionary; a variant such as EN-US names its language."""

    source_lang: str = Field(max_length=MAX_LANGUAGE_CODE, examples=["EN"])
    target_lang: str = Field(max_length=MAX_LANGUAGE_CODE, examples=["FR"])


class DictionaryRequest(DictionaryLanguages):
    """The entries of one language pair, as JSON or a form. Unknown fields are ignored."""

    entries: str = Field(examples=["house\tdemeure\ncredit card\tcarte bleue"])
    entries_format: EntriesFormat = "tsv"


class DeepLGlossaryRequest(DictionaryRequest):
    """The body of POST /v2/glossaries, as JSON or a form. Unknown fields are ignored."""

    name: Name


class _GlossaryRequest(LenientRequest):
    name: Name | None = None
    dictionaries: Annotated[
        list[DictionaryRequest], Field(max_length=MAX_DICTIONARIES, fail_fast=True)
    ] = Field([])

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data, from a form too. Raises `InvalidRequestError`."""
        return super().parse(_nested(values) if isinstance(values, dict) else values)

    @property
    def by_pointer(self) -> dict[str, DictionaryRequest]:
        return {f"/dictionaries/{index}": one for index, one in enumerate(self.dictionaries)}


class MultilingualGlossaryRequest(_GlossaryRequest):
    """The body of POST /v3/glossaries, as JSON or a form. Unknown fields are ignored."""

    name: Name
    dictionaries: Annotated[
        list[DictionaryRequest],
        Field(min_length=1, max_length=MAX_DICTIONARIES, fail_fast=True),
    ]


class GlossaryChanges(_GlossaryRequest):
    """The body of PATCH /v3/glossaries/{glossary_id}, as JSON or a form.

    Entries are added to the glossary's; those of the same source terms are replaced.
    """

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
        return cls(
            glossary_id=stored.id,
            name=stored.name,
            creation_time=stored.created,
            dictionaries=list(map(DictionaryInfo.of, stored.dictionaries)),
        )


class MultilingualGlossaries(BaseModel):
    """The response of GET /v3/glossaries."""

    glossaries: list[MultilingualGlossary]


class DictionaryEntries(BaseModel):
    """A dictionary with its entries."""

    source_lang: str = Field(examples=["en"])
    target_lang: str = Field(examples=["fr"])
    entries: str = Field(examples=["house\tdemeure"])
    entries_format: Literal["tsv"] = "tsv"


class GlossaryEntriesAnswer(BaseModel):
    """The response of GET /v3/glossaries/{glossary_id}/entries."""

    dictionaries: list[DictionaryEntries]


def sole_dictionary(stored: StoredGlossary) -> StoredDictionary:
    """Return the dictionary of a glossary with one. Raises `UnknownGlossaryError`."""
    if len(stored.dictionaries) != 1:
        n = len(stored.dictionaries)
        raise UnknownGlossaryError(f"the glossary has {n} dictionaries; use /v3/glossaries")
    return stored.dictionaries[0]


class DeepLGlossary(BaseModel):
    """A glossary without its entries."""

    glossary_id: str
    name: str
    ready: bool = Field(True, description="Always true.")
    source_lang: str = Field(examples=["en"])
    target_lang: str = Field(examples=["fr"])
    creation_time: datetime
    entry_count: int

    @classmethod
    def of(cls, stored: StoredGlossary) -> Self:
        """Convert to this dialect. Raises `UnknownGlossaryError` as `sole_dictionary`."""
        dictionary = DictionaryInfo.of(sole_dictionary(stored))
        return cls(
            glossary_id=stored.id,
            name=stored.name,
            creation_time=stored.created,
            **dictionary.model_dump(),
        )


class DeepLGlossaries(BaseModel):
    """The response of GET /v2/glossaries."""

    glossaries: list[DeepLGlossary]

    @classmethod
    def of(cls, stored: Iterable[StoredGlossary]) -> Self:
        """Convert to this dialect, leaving out glossaries of several language pairs."""
        return cls(
            glossaries=[DeepLGlossary.of(one) for one in stored if len(one.dictionaries) == 1]
        )


class DeepLGlossaryPair(BaseModel):
    """A language pair that a glossary may have."""

    source_lang: str = Field(examples=["en"])
    target_lang: str


class DeepLGlossaryPairs(BaseModel):
    """The response of /v2/glossary-language-pairs."""

    supported_languages: list[DeepLGlossaryPair]


def _nested(values: dict[str, object]) -> dict[str, object]:
    """Collect the fields that a form names `dictionaries[0].source_lang` in a list of objects."""
    found: dict[int, dict[str, object]] = {}
    for name, value in values.items():
        if member := _MEMBER.fullmatch(name):
            found.setdefault(int(member[1]), {})[member[2]] = value
    if not found or "dictionaries" in values:
        return values
    return values | {"dictionaries": [found[index] for index in sorted(found)]}
