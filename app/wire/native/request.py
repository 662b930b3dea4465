"""The base of the native dialect's requests."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.errors import FieldError, InvalidRequestError

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_texts(value: Any) -> list[str]:
    """Read one string or a list; lone surrogates become U+FFFD."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise PydanticCustomError("texts", "Input should be a string or a list of strings")
    if not texts:
        raise PydanticCustomError("texts", "The list should have at least one string")
    return [without_surrogates(text) for text in texts]


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no response could encode, with U+FFFD."""
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
            "description": "Order is preserved.",
        }
    ),
]


class WireRequest(BaseModel):
    """A body: unknown fields are rejected, and values are not converted to other types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data. Raises `InvalidRequestError` with the location of each error."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequestError(
            [FieldError(_pointer(fault["loc"]), fault["msg"]) for fault in faults]
        )


class DetectRequest(WireRequest):
    """The body of POST /detect."""

    text: Texts


def _pointer(loc: tuple[int | str, ...]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)
