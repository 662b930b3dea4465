"""config.json: the contents of a checkpoint folder and its language directions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias, overload

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from model.alignment.from_attention import AlignmentMethod
from model.decoding.hypothesis import MAX_LENGTH_PENALTY
from model.decoding.processors import NO_PROCESSORS, LogitsProcessors
from model.decoding.rules import HuggingFaceRule, MarianRule, traits_of
from model.errors import CheckpointError
from model.text.marian_tokenizer import MARIAN_ENDS, SequenceEnds
from model.transformer.config import TransformerConfig, describe_validation

Direction: TypeAlias = tuple[str, str]
"""Source and target."""


@dataclass(frozen=True)
class AnyPair(Sequence[Direction]):
    """From any of these languages to any other: in JSON `{"any_of": ["af", "am", …]}`.

    A short form for M2M-100's 9,900 directions. As a sequence, it contains all of them, by source
    in the order of the languages. Raises `ValueError`.
    """

    any_of: tuple[str, ...]

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (stored in a checkpoint)

    def __post_init__(self) -> None:
        if len(self.any_of) < 2:
            raise ValueError("any_of needs two languages")
        if len(set(self.any_of)) != len(self.any_of):
            raise ValueError("any_of contains a language twice")

    def __len__(self) -> int:
        return len(self.any_of) * (len(self.any_of) - 1)

    @overload
    def __getitem__(self, index: int) -> Direction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Direction]: ...

    def __getitem__(self, index: int | slice) -> Direction | list[Direction]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        row, column = divmod(range(len(self))[index], len(self.any_of) - 1)
        return self.any_of[row], self.any_of[column + (column >= row)]

    def __contains__(self, direction: object) -> bool:
        match direction:
            case (source, target):
                return source != target and source in self.any_of and target in self.any_of
        return False


FORMAT: Literal["attend"] = "attend"
VERSION: Literal[1] = 1

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "CARD.md"
TRAINING_FILE = "training.json"


_PROJECTS = {"marian": ("a Marian", "marian"), "m2m_100": ("an M2M-100 or NLLB", "m2m100")}
"""`model_type` in Hugging Face format → the project, and the verb that imports its models."""


class MarianVocabulary(BaseModel):
    """The checkpoint has Marian's vocabulary files instead of one SentencePiece model.

    separate        the target has separate ids, in target_vocab.json
    target_symbols  API code → symbol, such as `fr` → `>>fra<<`; empty with a single target
    ends            what sources start and end with, and the first token of translations
    moses           languages of source and target whose rules split text before bpe.model does;
                    null: source.spm and target.spm
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    separate: bool = False
    target_symbols: dict[str, str] = {}
    ends: SequenceEnds = MARIAN_ENDS
    moses: tuple[str, str] | None = None


class MultilingualVocabulary(BaseModel):
    """The checkpoint has the vocabulary files of M2M-100 or NLLB.

    listed     ids are those of vocab.json (M2M-100), else of the SentencePiece model (NLLB)
    languages  API code → token and its id, such as `fr` → (`__fr__`, 128028)
    behind     the source language follows the text (NLLB's `legacy_behaviour`)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    listed: bool
    languages: dict[str, tuple[str, int]] = Field(min_length=1)
    behind: bool = False


def _project(rule: object) -> str:
    """Which project's rule it is: only Marian's names `<unk>`."""
    names = rule if isinstance(rule, dict) else vars(rule) if isinstance(rule, MarianRule) else {}
    return "marian" if "unk_id" in names else "transformers"


SearchRule = Annotated[
    Annotated[HuggingFaceRule, Tag("transformers")] | Annotated[MarianRule, Tag("marian")],
    Discriminator(_project),
]


Directions = Annotated[
    Annotated[list[tuple[str, str]], Field(min_length=1), Tag("pairs")]
    | Annotated[AnyPair, Tag("any_of")],
    Discriminator(lambda given: "any_of" if isinstance(given, dict | AnyPair) else "pairs"),
]


class CheckpointConfig(BaseModel):
    """config.json: the folder's contents and language directions. Unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["attend"] = FORMAT
    version: Literal[1] = VERSION
    name: str = Field(min_length=1, description="the model's name in the API")
    directions: Directions = Field(description="source, target languages; or any two of a list")
    beam_size: int = Field(4, ge=1, le=8, description="default of the search")
    length_penalty: float = Field(0.6, ge=0, le=MAX_LENGTH_PENALTY)
    search_rule: SearchRule | None = Field(
        None, description="search by another project's rules; null: attend's own"
    )
    logits_processors: LogitsProcessors = Field(
        NO_PROCESSORS, description="what translations must not have, such as a repeated n-gram"
    )
    marian_vocabulary: MarianVocabulary | None = Field(
        None, description="null: sentencepiece.model, with a symbol per target language"
    )
    multilingual_vocabulary: MultilingualVocabulary | None = Field(
        None, description="the vocabulary of M2M-100 or NLLB instead"
    )
    alignment: AlignmentMethod | None = Field(
        None, description="best method of word alignment; null: the mean of the last layer's heads"
    )
    shortlist: bool | None = Field(
        None, description="whether a search uses shortlist.bin by default; null: there is none"
    )
    transformer: TransformerConfig

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        is_list = not isinstance(self.directions, AnyPair)
        if is_list and len(set(self.directions)) != len(self.directions):
            raise ValueError("directions contains a pair twice")
        if self.marian_vocabulary and self.multilingual_vocabulary:
            raise ValueError("expected one of marian_vocabulary and multilingual_vocabulary")
        method, shape = self.alignment or AlignmentMethod(), self.transformer
        for name, n in (("layer", shape.n_decoder_layers), ("head", shape.n_heads_of_decoder)):
            if (index := getattr(method, name) or 0) >= n:
                raise ValueError(f"alignment.{name} {index} is outside the decoder")
        if method.both_directions and not self.is_two_way:
            raise ValueError("alignment.both_directions requires the reverse of every direction")
        unk_id = traits_of(self.search_rule).unk_id
        if unk_id is not None and unk_id >= self.transformer.target_vocab_size:
            raise ValueError(f"search_rule.unk_id {unk_id} is outside the target vocabulary")
        bad_ids = [token for word in self.logits_processors.bad_words_ids for token in word]
        if bad_ids and not 0 <= min(bad_ids) <= max(bad_ids) < shape.target_vocab_size:
            raise ValueError("logits_processors.bad_words_ids is outside the target vocabulary")
        return self

    def first_id(self, target: str) -> int | None:
        """The first token of translations to a language; see `TextCodec.first_id`."""
        if vocabulary := self.multilingual_vocabulary:
            return vocabulary.languages[target][1]
        first = self.marian_vocabulary and self.marian_vocabulary.ends.first
        return first[1] if first else None

    @property
    def is_two_way(self) -> bool:
        """Whether the reverse of every direction is included."""
        if isinstance(self.directions, AnyPair):
            return True
        return {(target, source) for source, target in self.directions} <= set(self.directions)


def read_config(folder: Path) -> CheckpointConfig:
    """Read the configuration without the weights. Raises `CheckpointError`."""
    if not folder.is_dir():
        reason = "not a folder" if folder.exists() else "no such folder"
        raise CheckpointError(f"{folder}: {reason}; expected a checkpoint written by attend")
    path = folder / CONFIG_FILE
    written = read_file(path)
    try:
        values = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        hint = ""
        if isinstance(values, dict) and "model_type" in values:
            hint = f" (a Hugging Face {values['model_type']!r} model?)"
            if project := _PROJECTS.get(str(values["model_type"])):
                called, verb = project
                hint = f" ({called} model: convert it with `attend import {verb}`)"
        raise CheckpointError(f"{path}: not the configuration of an attend checkpoint{hint}")
    version = values.get("version")
    if version is True or version != VERSION:
        raise CheckpointError(
            f"{path}: format version {version!r}, this attend reads version {VERSION}"
        )
    try:
        return CheckpointConfig.model_validate_json(written)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {describe_validation(error)}") from None


def read_file(path: Path) -> bytes:
    """Return a file's content. Raises `CheckpointError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text atomically, with one newline at its end."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    partial.replace(path)
