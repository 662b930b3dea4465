"""Parses JSON without blocking the event loop: large bodies are decoded in portions,
and the values are counted, and refused if there are too many, before they are parsed."""

import codecs
import json
from collections import Counter
from typing import NoReturn

from app.concurrency.coroutines import turn_of_the_loop
from app.errors import MalformedJsonError
from app.wire.native.fields import without_surrogates

LARGE = 16_000
"""Bytes; parsing and validating as many takes up to half a millisecond."""

MAX_VALUES = 100_000
"""Commas, colons and opening brackets outside of strings, of which there is one for each name and
value. Parsing as many takes up to 50 ms; a million of them fit in two megabytes."""

MAX_KEY = 50


async def parse_json(content: bytes, max_values: int = MAX_VALUES) -> object:
    """Parse UTF-8, UTF-16 or UTF-32, in which lone surrogates become U+FFFD.

    Raises `MalformedJsonError` with the position of an error, without a quotation.
    """
    text = await _decoded(content)
    if _has_more_values(text, max_values):
        raise MalformedJsonError(
            f"the body has more than {max_values:,} commas, colons and opening brackets "
            "outside of strings"
        )
    try:
        parsed: object = _JSON.decode(text)
    except ValueError as error:
        raise MalformedJsonError(_reason(error)) from None
    except RecursionError:
        raise MalformedJsonError("the body is nested too deeply") from None
    if len(content) > LARGE:
        await turn_of_the_loop()  # the caller validates it
    return parsed


async def _decoded(content: bytes) -> str:
    """Decode; if there are surrogates, in portions that take turns: a million takes 0.2 s."""
    encoding = json.detect_encoding(content)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    portions = []
    for start in range(0, len(content), LARGE):
        await turn_of_the_loop()
        kept, _ = decoder.getstate()
        is_last = start + LARGE >= len(content)
        try:
            portion = decoder.decode(content[start : start + LARGE], final=is_last)
        except UnicodeDecodeError as error:
            at = start - len(kept) + error.start
            raise MalformedJsonError(f"the body is not UTF-8: error at byte {at}") from None
        portions.append(without_surrogates(portion))
    return "".join(portions)


def _has_more_values(text: str, max_values: int) -> bool:
    if _n_delimiters(text) <= max_values:
        return False
    escaped = text.replace("\\\\", "").replace('\\"', "")
    if escaped.count('"') > 2 * (max_values + 1):  # strings, each of which has its delimiter
        return True
    return _n_delimiters("".join(escaped.split('"')[::2])) > max_values


def _n_delimiters(text: str) -> int:
    return sum(map(text.count, ",:[{"))


def _reason(error: ValueError) -> str:
    """Describe an error and its location without quoting the body."""
    if isinstance(error, json.JSONDecodeError):
        return f"the body is not JSON: error at line {error.lineno}, column {error.colno}"
    if isinstance(error, RepeatedKeyError):
        return f"the body is not valid: {error}"
    return "the body is not JSON: a number is invalid or has too many digits"


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


class RepeatedKeyError(ValueError):
    """An object repeats a key; programs differ in which value they read (RFC 8259 §4)."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise RepeatedKeyError(f"an object has the key {json.dumps(key[:MAX_KEY])} twice")
    return values


_JSON = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)
"""Created once; `json.loads` would create one for each body."""
