import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.concurrency import coroutines
from app.errors import MalformedJsonError
from app.routes.handling import json_body
from app.routes.handling.body import Body, read_json
from app.routes.handling.json_body import LARGE, MAX_VALUES, parse_json
from tests.app.routes.handling.test_body import JSON, make_request

STRINGS = st.text(st.sampled_from('",:[{}]\\/\nné😀'), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | STRINGS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(STRINGS, inner, max_size=5),
)


def n_delimiters(value: Any) -> int:
    """Count commas, colons and opening brackets from the value."""
    if isinstance(value, dict):
        return 1 + max(2 * len(value) - 1, 0) + sum(map(n_delimiters, value.values()))
    if isinstance(value, list):
        return 1 + max(len(value) - 1, 0) + sum(map(n_delimiters, value))
    return 0


@given(VALUES, st.booleans())
def test_as_many_values_as_allowed_are_read(value: Any, ascii_only: bool) -> None:
    """Delimiters in strings are not counted, with any escapes."""
    content = json.dumps(value, ensure_ascii=ascii_only).encode()
    n = n_delimiters(value)
    assert asyncio.run(parse_json(content, n)) == value
    if n:
        with pytest.raises(MalformedJsonError, match=f"more than {n - 1:,} commas, colons"):
            asyncio.run(parse_json(content, n - 1))


@pytest.mark.parametrize(
    "content",
    [
        b"[" + b"1," * MAX_VALUES + b"1]",
        b"[" + b"[]," * MAX_VALUES + b"[]]",
        b"{" + b'"a":1,' * MAX_VALUES + b'"b":1}',
        b'{"text":[' + b'"",' * MAX_VALUES + b'""]}',
        b'["' + b'\\"' * 100 + b'",' + b'"",' * MAX_VALUES + b"0]",
        b"[[" * MAX_VALUES,
        (b"[" + b"1," * MAX_VALUES + b"1]").decode().encode("utf-16"),
    ],
)
async def test_too_many_values_are_refused_before_they_are_parsed(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_body, "_JSON", None)
    request, _ = make_request(content, content_type=JSON)
    with pytest.raises(MalformedJsonError, match="more than 100,000 commas, colons and opening"):
        await read_json(request, 2_000_000)


async def test_larger_bodies_may_have_more_values() -> None:
    content = b"[" + b"1," * MAX_VALUES + b"1]"
    request, _ = make_request(content, content_type=JSON)
    parsed = await read_json(request, 20 * MAX_VALUES + 20)
    assert parsed == [1] * (MAX_VALUES + 1)
    request, _ = make_request(content, content_type=JSON)
    body = await Body.read(request, 1_000_000)
    assert body.max_values == MAX_VALUES  # not stricter than the default


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-le"])
async def test_surrogates_become_replacement_characters(encoding: str) -> None:
    """Also at the ends of portions."""
    for n_before in range(4):
        text = "a" * n_before + "\ud800é\udc00\ud800" * 10_000
        content = f'"{text}"'.encode(encoding, "surrogatepass")
        expected = "a" * n_before + "\ufffdé\ufffd\ufffd" * 10_000
        assert await parse_json(content) == expected


@pytest.mark.parametrize("n_before", [0, LARGE - 3, LARGE - 1, LARGE, 3 * LARGE + 7])
async def test_the_position_of_invalid_utf_8_is_that_in_the_body(n_before: int) -> None:
    content = b'"' + b"\xed\xa0\x80" * (n_before // 3) + b"a" * (n_before % 3) + b'\xff"'
    with pytest.raises(MalformedJsonError, match=f"not UTF-8: error at byte {n_before + 1}$"):
        await parse_json(content)


@pytest.mark.parametrize("text", ["\ud800" * 50_000, "a" * 100_000])
async def test_others_run_while_surrogates_are_decoded_and_before_the_caller_continues(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coroutines, "SHARE", 0)
    content = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    reading = asyncio.create_task(parse_json(content))
    n_turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        n_turns += 1
    n_portions = len(content) // LARGE if text[0] == "\ud800" else 0
    assert n_turns >= n_portions + 1
    assert len(str(await reading)) == len(text)
