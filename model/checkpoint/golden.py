"""Golden sentences: translations recorded with a checkpoint, which a server verifies at start.

They detect failures that only show in translations: a partially copied folder, a vocabulary of
other weights, kernels that compute wrong results. The file is optional.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from model.checkpoint.config import read_file, write_text
from model.errors import CheckpointError
from model.transformer.config import describe_validation

GOLDEN_FILE = "golden.json"


class GoldenSentence(BaseModel):
    """A sentence and its translation by the checkpoint's own search, in any precision."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str = Field(min_length=1, description="language")
    target: str = Field(min_length=1, description="language")
    text: str = Field(min_length=1)
    translation: str


_Sentences: TypeAdapter[list[GoldenSentence]] = TypeAdapter(
    Annotated[list[GoldenSentence], Field(min_length=1)]
)


def read_golden(folder: Path, directions: Sequence[tuple[str, str]]) -> tuple[GoldenSentence, ...]:
    """Read a folder's golden sentences, none if the file is missing. Raises `CheckpointError`."""
    path = folder / GOLDEN_FILE
    if not path.exists():
        return ()
    written = read_file(path)
    try:
        sentences = _Sentences.validate_json(written)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {describe_validation(error)}") from None
    for sentence in sentences:
        if (sentence.source, sentence.target) not in directions:
            raise CheckpointError(
                f"{path}: the model does not translate {sentence.source} to {sentence.target}"
            )
    return tuple(sentences)


def write_golden(folder: Path, sentences: Iterable[GoldenSentence]) -> None:
    """Write golden sentences, replacing existing ones."""
    values = [sentence.model_dump() for sentence in sentences]
    write_text(folder / GOLDEN_FILE, json.dumps(values, indent=2, ensure_ascii=False))
