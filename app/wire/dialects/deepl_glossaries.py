"""Stored glossaries in DeepL's dialect, version 2, on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.accounts.glossary_entries import EntriesFormat
from app.accounts.glossary_store import StoredGlossary
from app.wire.dialects.lenient_request import LenientRequest
from app.wire.native.fields import MAX_LANGUAGE_CODE
from app.wire.native.request import without_surrogates

TSV = "text/tab-separated-values"
MAX_NAME = 1024


def _name(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(name := value.strip()) <= MAX_NAME:
        raise PydanticCustomError("name", f"Input should have 1 to {MAX_NAME} characters")
    return without_surrogates(name)


class DeepLGlossaryRequest(LenientRequest):
    """The body of POST /v2/glossaries, as JSON or a form. Unknown fields are ignored."""

    name: Annotated[str, BeforeValidator(_name), Field(min_length=1, max_length=MAX_NAME)]
    source_lang: str = Field(max_length=MAX_LANGUAGE_CODE, examples=["EN"])
    target_lang: str = Field(max_length=MAX_LANGUAGE_CODE, examples=["FR"])
    entries: str = Field(examples=["house\tdemeure\ncredit card\tcarte bleue"])
    entries_format: EntriesFormat = "tsv"


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
        """Convert to this dialect."""
        return cls(
            glossary_id=stored.id,
            name=stored.name,
            source_lang=stored.source,
            target_lang=stored.target,
            creation_time=stored.created,
            entry_count=stored.n_entries,
        )


class DeepLGlossaries(BaseModel):
    """The response of GET /v2/glossaries."""

    glossaries: list[DeepLGlossary]

    @classmethod
    def of(cls, stored: Iterable[StoredGlossary]) -> Self:
        """Convert to this dialect."""
        return cls(glossaries=[DeepLGlossary.of(one) for one in stored])


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
