"""The tables of a recipe for corpora and vocabulary."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from model.training.data.corpus import Files


class DataTable(BaseModel):
    """A table of a recipe: immutable; unknown keys are rejected, numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CorpusConfig(DataTable):
    """One parallel corpus: files, weight, origin and licence."""

    name: str
    files: list[Files] = Field(
        default_factory=list,
        description="tab-separated, JSON lines, or pairs of files; .xz and .gz are decompressed",
    )
    written_numbers: int = Field(
        0, ge=0, description="generated English-French sentences with numbers, instead of files"
    )
    languages: tuple[str, str] = Field(description="languages of the two columns")
    directions: list[tuple[str, str]] = Field(
        default_factory=list, description="directions that it is used in; empty: both"
    )
    tag: str = Field(
        "",
        pattern="^[a-z]*$",
        description="symbol before its sources, such as bt for back-translated text",
    )
    weight: float = Field(1.0, gt=0, description="share of the examples")
    origin: str = Field("", description="where to get it")
    licence: str = ""
    credit: str = Field("", description="credit that the licence requires; printed in the card")

    @property
    def all_directions(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.directions) or both_ways(self.languages)

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if bool(self.files) == bool(self.written_numbers):
            raise ValueError("give either files or written_numbers")
        if self.written_numbers and self.languages != ("en", "fr"):
            raise ValueError("written_numbers are English and French: languages = ['en', 'fr']")
        for source, target in frozenset(self.directions) - both_ways(self.languages):
            raise ValueError(f"directions: {source} → {target} is not of {self.languages}")
        return self


class TokenizerConfig(DataTable):
    """The vocabulary of the run: learnt at its start, or given."""

    vocab_size: int = Field(
        0,
        ge=0,
        description="number of pieces; 0: the preset's (base 37,000, small 8,000, tiny 512)",
    )
    kind: Literal["unigram", "bpe"] = Field(
        "unigram", description="unigram language model or byte-pair encoding"
    )
    sentences: int = Field(
        500_000, gt=0, description="number of pairs, from the start of each corpus, to learn from"
    )
    file: Path | None = Field(
        None, description="SentencePiece model of an earlier run to use instead of learning one"
    )
    sampling: float = Field(
        0.0,
        ge=0,
        le=1,
        description="subword regularisation: unigram's smoothing, bpe's dropout; 0: none",
    )


def both_ways(languages: tuple[str, str]) -> frozenset[tuple[str, str]]:
    """The two directions between two languages."""
    return frozenset({languages, languages[::-1]})
