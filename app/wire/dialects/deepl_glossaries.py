"""Stored glossaries in DeepL's dialect, version 2, on the wire: those of one language pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.accounts.glossary_entries import EntriesFormat
from app.accounts.glossary_store import StoredDictionary, StoredGlossary
from app.errors import UnknownGlossaryError
from app.wire.dialects.lenient_request import LenientRequest
from app.wire.native.fields import MAX_LANGUAGE_CODE
from app.wire.native.request import without_surrogates

TSV = "text/tab-separated-values"
MAX_NAME = 1024


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


def has_one_pair(stored: StoredGlossary) -> bool:
    """Whether version 2 of the API can describe a glossary."""
    return len(stored.dictionaries) == 1


def sole_dictionary(stored: StoredGlossary) -> StoredDictionary:
    """Return the dictionary of a glossary with one. Raises `UnknownGlossaryError`."""
    if not has_one_pair(stored):
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
        """Convert to this dialect.

        Raises `UnknownGlossaryError` if the glossary does not have one language pair.
        """
        dictionary = sole_dictionary(stored)
        return cls(
            glossary_id=stored.id,
            name=stored.name,
            source_lang=dictionary.source,
            target_lang=dictionary.target,
            creation_time=stored.created,
            entry_count=dictionary.n_entries,
        )


class DeepLGlossaries(BaseModel):
    """The response of GET /v2/glossaries."""

    glossaries: list[DeepLGlossary]

    @classmethod
    def of(cls, stored: Iterable[StoredGlossary]) -> Self:
        """Convert to this dialect, leaving out glossaries of several language pairs."""
        return cls(glossaries=[DeepLGlossary.of(one) for one in stored if has_one_pair(one)])


class DeepLGlossaryPair(BaseModel):
    """A language pair that a glossary may have."""

    source_lang: str = Field(examples=["en"])
    target_lang: str


class DeepLGlossaryPairs(BaseModel):
    """The response of /v2/glossary-language-pairs."""

    supported_languages: list[DeepLGlossaryPair]

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Self:
        """Convert pairs of source and target."""
        return cls(
            supported_languages=[
                DeepLGlossaryPair(source_lang=source, target_lang=target)
                for source, target in pairs
            ]
        )
