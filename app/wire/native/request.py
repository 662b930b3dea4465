"""What the bodies of the native dialect's requests have in common."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.errors import FieldError, InvalidRequestError

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_texts(value: Any) -> list[str]:
    """One string or many; a lone surrogate is read as U+FFFD."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise PydanticCustomError("texts", "Input should be a string or a list of strings")
    if not texts:
        raise PydanticCustomError("texts", "The list should have at least one string")
    return [without_surrogates(text) for text in texts]


def without_surrogates(text: str) -> str:
    """With U+FFFD in the place of lone surrogates, which no answer could hold."""
    return _SURROGATE.sub("\ufffd", text)


Texts = Annotated[
    list[str],
    BeforeValidator(read_texts),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ],
            "description": "The order is kept.",
        }
    ),
]


class WireRequest(BaseModel):
    """A body: unknown fields are refused, and no value is taken for one of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def parse(cls, values: object) -> Self:
        """From untrusted data. Raises `InvalidRequestError` with the place of each fault."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequestError(
            [FieldError(_pointer(fault["loc"]), fault["msg"]) for fault in faults]
        )


def _pointer(loc: tuple[int | str, ...]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)
