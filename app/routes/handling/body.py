"""Request bodies: limited in size, as JSON or a form."""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Self

from fastapi import HTTPException, Request
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from app.concurrency.coroutines import turn_of_the_loop
from app.errors import InvalidRequestError, MalformedFormError
from app.routes.handling.json_body import LARGE, MAX_VALUES, parse_json
from app.wire.failures import FORMS, media_type
from app.wire.native.fields import Repeated

MAX_FORM_FIELDS = 20_000

BYTES_PER_VALUE = 20
"""A larger limit on bodies allows more than `MAX_VALUES`: one value for so many of its bytes."""

Form = dict[str, object]
"""A string for each name, or a `Repeated` list if a name occurs several times."""


@dataclass(slots=True)
class Body:
    """A complete body.

    max_values  of JSON
    kind        the media type, without parameters
    """

    content: bytes
    headers: Headers
    max_values: int = MAX_VALUES
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.kind = media_type(self.headers)

    @classmethod
    async def read(cls, request: Request, max_bytes: int) -> Self:
        """Read it. Raises as `read_body`."""
        content = await read_body(request, max_bytes)
        return cls(content, request.headers, max(MAX_VALUES, max_bytes // BYTES_PER_VALUE))

    @property
    def is_json(self) -> bool:
        """Whether it is application/json, …+json, without a type, or sent by `curl -d '{…}'`.

        The last declares a form but begins like an object.
        """
        return (
            self.kind in ("", "application/json")
            or (self.kind.startswith("application/") and self.kind.endswith("+json"))
            or (self.kind == FORMS[0] and self.content.lstrip()[:1] == b"{")
        )

    @property
    def is_form(self) -> bool:
        return self.kind in FORMS and not self.is_json

    async def json(self) -> object:
        """Parse JSON. Raises `HTTPException` 415, `MalformedJsonError`."""
        if not self.is_json:
            raise unsupported("application/json")
        return await parse_json(self.content, self.max_values)

    async def form(self) -> Form:
        """Parse form fields. Raises `HTTPException` 415, `MalformedFormError`."""
        if not self.is_form:
            raise unsupported("application/json", *FORMS)
        if self.kind == FORMS[0]:
            return gather(await _urlencoded(self.content))
        fields = await parse_multipart(
            self.headers, self.content, max_files=0, max_fields=MAX_FORM_FIELDS,
            max_part_size=len(self.content),
        )  # fmt: skip
        return gather((name, str(value)) for name, value in fields.multi_items())


_ESCAPES = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")


async def _urlencoded(content: bytes) -> list[tuple[str, str]]:
    """Decode the names and values of a form. Raises `MalformedFormError`.

    https://url.spec.whatwg.org/#concept-urlencoded-parser
    """
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise MalformedFormError(f"the body is not UTF-8: error at byte {error.start}") from None
    if content.count(b"&") >= MAX_FORM_FIELDS:
        raise MalformedFormError(f"the body has more than {MAX_FORM_FIELDS:,} fields")
    fields = []
    for pair in content.split(b"&"):
        if pair:
            await turn_of_the_loop()
            name, _, value = pair.partition(b"=")
            fields.append((await _unquoted(name), await _unquoted(value)))
    return fields


async def _unquoted(quoted: bytes) -> str:
    """Decode in portions that take turns: two megabytes of escapes take 0.2 s."""
    if len(quoted) <= LARGE:
        return _decoded(quoted).decode("utf-8", "replace")
    decoded = bytearray()
    start = 0
    while start < len(quoted):
        await turn_of_the_loop()
        end = start + LARGE
        if (divided := quoted.find(b"%", end - 2, end)) >= 0:  # an escape
            end = divided
        decoded += _decoded(quoted[start:end])
        start = end
    return decoded.decode("utf-8", "replace")


def _decoded(quoted: bytes) -> bytes:
    return _ESCAPES.sub(_unescaped, quoted.replace(b"+", b" "))


def _unescaped(escapes: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escapes[0].replace(b"%", b"").decode())


class _FormParser(MultiPartParser):
    """Notes the closing boundary: a part that no boundary ends is not among the fields."""

    is_complete = False

    def on_end(self) -> None:
        self.is_complete = True


async def parse_multipart(headers: Headers, content: bytes, **limits: int) -> FormData:
    """Parse multipart/form-data, in memory. Raises `MalformedFormError`."""

    async def stream() -> AsyncGenerator[bytes, None]:  # 20,000 fields take 0.2 s
        for start in range(0, len(content), LARGE):
            await turn_of_the_loop()
            yield content[start : start + LARGE]
        if not parser.is_complete:
            raise MultiPartException("It ends before its closing boundary")

    parser = _FormParser(headers, stream(), **limits)
    parser.spool_max_size = len(content) + 1  # never on disk
    try:
        return await parser.parse()
    except MultiPartException as error:
        # The causes have positions and codes of bytes; only those of limits say what is wrong.
        limit = str(error.__cause__ or "")
        reason = limit if limit.startswith("Maximum") else error.message
    except (KeyError, ValueError):
        reason = "invalid multipart data"
    reason = reason[:1].lower() + reason[1:].removesuffix(".")
    raise MalformedFormError(f"the body is not a form of {FORMS[1]}: {reason}")


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Read the body. Raises `HTTPException` 413, and 415 if it is compressed."""
    coding = request.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "the body should not be compressed: the only supported Content-Encoding is identity",
            headers={"Accept-Encoding": "identity"},
        )
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > max_bytes:
        raise _too_large(max_bytes)
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > max_bytes:
            raise _too_large(max_bytes)
    if len(content) > LARGE:
        await turn_of_the_loop()  # several may have arrived together
    return bytes(content)


async def read_json(request: Request, max_bytes: int) -> object:
    """Read the body as JSON. Raises `HTTPException` 413 and 415, `MalformedJsonError`."""
    body = await Body.read(request, max_bytes)
    return await body.json()


async def read_parameters(request: Request, max_bytes: int) -> Form:
    """Read parameters from the body, an object or a form, and from the query string.

    Raises as `read_json`, `MalformedFormError`, `InvalidRequestError`.
    """
    body = await Body.read(request, max_bytes)
    parsed: object = {}
    if body.content:
        parsed = await body.json() if body.is_json else await body.form()
    if not isinstance(parsed, Mapping):
        raise InvalidRequestError.at("", "the body should be an object")
    return gather(request.query_params.multi_items()) | dict(parsed)


def gather(fields: Iterable[tuple[str, str]]) -> Form:
    """Group the fields of a form or query string by name."""
    gathered: dict[str, list[str]] = {}
    for name, value in fields:
        gathered.setdefault(name, []).append(value)
    return {
        name: Repeated(values) if len(values) > 1 else values[0]
        for name, values in gathered.items()
    }


def unsupported(*supported: str) -> HTTPException:
    """Return the error for a body of another media type."""
    named = " or ".join(supported)
    return HTTPException(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body should be {named}",
        headers={"Accept-Post": ", ".join(supported)},
    )  # fmt: skip


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have at most {max_bytes:,} bytes"
    )
