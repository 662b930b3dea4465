"""The base classes of requests, and fields that several of them have."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from app.errors import FieldError, InvalidRequestError
from app.translation.requests import AttentionSelection
from model.decoding.hypothesis import MAX_LENGTH_PENALTY
from model.engine.explanations import AttentionKind

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


TEXTS_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ],
        "description": "Order is preserved.",
    }
)
Texts = Annotated[list[str], BeforeValidator(read_texts), TEXTS_SCHEMA]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("text", "Input should be a string")
    return without_surrogates(value)


Text = Annotated[str, BeforeValidator(_text)]
"""One text; lone surrogates become U+FFFD."""

MAX_MEMBERS = 100
"""Members of an object without unknown fields; each of those would be an error of its own."""


class WireRequest(BaseModel):
    """A body: unknown fields are rejected, and values are not converted to other types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _limit_unknown(cls, values: Any) -> Any:
        forbidden = cls.model_config.get("extra") == "forbid"
        if forbidden and isinstance(values, dict) and len(values) > MAX_MEMBERS:
            raise PydanticCustomError("members", f"Input should have at most {MAX_MEMBERS} members")
        return values

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data. Raises `InvalidRequestError` with the location of each error."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
        raise InvalidRequestError(
            [
                FieldError(_pointer(one), REPEATED if _is_repeated(one, values) else _detail(one))
                for one in faults
            ]
        )


_DETAILS = {
    "dict_type": "Input should be an object",
    "extra_forbidden": "Unknown field",
    "list_type": "Input should be a list",
    "model_type": "Input should be an object",
    "string_unicode": "A string should not have half of a surrogate pair",
    "too_long": "Input should be a list of at most {max_length} items",
    "too_short": "Input should be a list of at least {min_length} item",
    "tuple_type": "Input should be a list",
}
"""Messages in JSON's terms, where pydantic's are in Python's."""

_KEY = "key"
"""In the context of an error: where in the field it is."""


REPEATED = "Field given several times, expected once"


class Repeated(list[str]):
    """The values of a field that a form or query string has several times."""


def _is_repeated(fault: ErrorDetails, values: object) -> bool:
    """Whether it is the fault of a field that it is given several times."""
    return (
        isinstance(values, dict)
        and len(fault["loc"]) == 1
        and fault["type"] not in ("too_long", "not_supported")
        and isinstance(values.get(fault["loc"][0]), Repeated)
    )


def _pointer(fault: ErrorDetails) -> str:
    loc = fault["loc"] + fault.get("ctx", {}).get(_KEY, ())
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)


def _detail(fault: ErrorDetails) -> str:
    detail = _DETAILS.get(fault["type"])
    return fault["msg"] if detail is None else detail.format_map(fault.get("ctx", {}))


MAX_BEAM_SIZE = 8
MAX_LANGUAGE_CODE = 35
"""Characters; RFC 5646 §4.4.1 recommends allowing for this many."""

MAX_TERM = 1024
"""Maximum characters of a term."""


def _code(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_LANGUAGE_CODE:
        raise PydanticCustomError("code", "Input should be a language code, such as fr")
    return value


LanguageCode = Annotated[
    str, Field(min_length=1, max_length=MAX_LANGUAGE_CODE), BeforeValidator(_code)
]
_GIVEN_SOURCE = Field(description="BCP-47 code; optional if the target implies it.")
_SOURCE = Field(
    description="BCP-47 code; auto: detected for each text. Default: the only source of the "
    "target, unless another language is far likelier."
)
_TARGET = Field(description="BCP-47 code; optional if the source implies it.")
GivenSource = Annotated[LanguageCode | None, _GIVEN_SOURCE]
Source = Annotated[LanguageCode | None, _SOURCE]
Target = Annotated[LanguageCode | None, _TARGET]
BeamSize = Annotated[
    int | None, Field(ge=1, le=MAX_BEAM_SIZE, description="1 is greedy. Default: the checkpoint's.")
]
LengthPenalty = Annotated[
    float | None,
    Field(
        ge=0, le=MAX_LENGTH_PENALTY, allow_inf_nan=False,
        description="α of Wu et al. 2016; 0 favours short translations. Default: the checkpoint's.",
    ),
]  # fmt: skip
MaxTargetTokens = Annotated[
    int | None,
    Field(ge=1, description="Maximum target tokens, with the end of sentence. "
          "Default: source tokens + 50."),
]  # fmt: skip


def _choice(*words: str) -> BeforeValidator:
    """Validate one of the words, or a list of indices from 0."""

    def check(value: Any) -> Any:
        if value in words if isinstance(value, str) else _are_indices(value):
            return value
        names = " or ".join(f"'{word}'" for word in words)
        raise PydanticCustomError(
            "choice", f"Input should be {names} or a list of different indices ≥ 0"
        )

    return BeforeValidator(check)


def _are_indices(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(type(index) is int and index >= 0 for index in value)
        and len(set(value)) == len(value)
    )


class AttentionRequest(WireRequest):
    """Selects the attention weights to return."""

    kind: AttentionKind = "cross"
    layers: Annotated[Literal["last", "all"] | list[int], _choice("last", "all")] = "last"
    heads: Annotated[Literal["mean", "all"] | list[int], _choice("mean", "all")] = "mean"
    encoding: Literal["json", "base64"] = "json"

    def selection(self) -> AttentionSelection:
        return AttentionSelection(self.kind, self.layers, self.heads, self.encoding)


def _attention(value: Any) -> Any:
    """Read `true` as the default selection and `false` as none."""
    if value is False:
        return None
    if value is True:
        return {}
    if value is None or not isinstance(value, dict | AttentionRequest):
        raise PydanticCustomError("attention", "Input should be a boolean or an object")
    return value


AttentionChoice = Annotated[
    AttentionRequest | None,
    BeforeValidator(_attention),
    WithJsonSchema(
        {
            "anyOf": [{"type": "boolean"}, {"$ref": "#/components/schemas/AttentionRequest"}],
            "default": False,
            "description": "true: cross-attention of the last layer, mean over its heads.",
        }
    ),
]


def _term(value: Any, key: int | str) -> str:
    """Strip whitespace; lone surrogates become U+FFFD, as in texts."""
    expected = None
    if not isinstance(value, str):
        expected = "be a string"
    elif not 1 <= len(term := value.strip()) <= MAX_TERM:
        expected = f"have 1 to {MAX_TERM} characters"
    elif len(term.splitlines()) > 1:
        expected = "have no line break"
    else:
        return without_surrogates(term)
    raise PydanticCustomError("term", f"A term should {expected}", {_KEY: (key,)})


def _entries(value: Any) -> dict[str, str]:
    """Validate as a whole: a large object may have as many faults as members."""
    if not isinstance(value, dict):
        raise PydanticCustomError("glossary", "Input should be an object")
    return {_term(source, source): _term(target, source) for source, target in value.items()}


_TERM = Field(min_length=1, max_length=MAX_TERM)


def _terms(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("terms", "Input should be a list of strings")
    return tuple(_term(term, index) for index, term in enumerate(value))


Terms = Annotated[
    tuple[Annotated[str, _TERM], ...],
    BeforeValidator(_terms),
    Field(strict=False, description="Terms to leave untranslated."),
]
GlossaryEntries = Annotated[
    dict[Annotated[str, _TERM], Annotated[str, _TERM]],
    BeforeValidator(_entries),
    Field(description="Source terms and their translations."),
]


def _without_nulls(schema: dict[str, Any]) -> None:
    """Describe nullable fields without null, which forms do not have."""
    for field in schema["properties"].values():
        kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
        if len(kinds) == 1:
            del field["anyOf"], field["default"]
            field.update(kinds[0])


class LenientRequest(WireRequest):
    """The base of other dialects: unknown fields are ignored, and numbers may be strings."""

    model_config = ConfigDict(extra="ignore", strict=False, json_schema_extra=_without_nulls)

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data; null counts as omitted. Raises `InvalidRequestError`."""
        if isinstance(values, dict):
            values = {name: value for name, value in values.items() if value is not None}
        return super().parse(values)
