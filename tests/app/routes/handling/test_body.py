import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import pytest
from fastapi import HTTPException, Request
from starlette.datastructures import Headers

from app.concurrency.coroutines import SHARE
from app.errors import InvalidRequestError, MalformedFormError, MalformedJsonError
from app.routes.handling.body import (
    MAX_FORM_FIELDS,
    Body,
    gather,
    parse_multipart,
    read_body,
    read_json,
    read_parameters,
)
from app.routes.handling.json_body import LARGE
from tests.cases import cases

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"
PARTS = (
    b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\nun\r\n'
    b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\ndeux\r\n--x--\r\n'
)


def make_request(
    *chunks: bytes, query: bytes = b"", **headers: str
) -> tuple[Request, Callable[[], int]]:
    """Return a request with a body in chunks, and a function that returns how many were read."""
    left = list(chunks)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "query_string": query, "headers": named}
    return Request(scope, receive), lambda: len(chunks) - len(left)


async def status_of(reading: Awaitable[object]) -> int:
    with pytest.raises(HTTPException) as raised:
        await reading
    return raised.value.status_code


async def test_a_body_of_just_the_limit_comes_in_chunks() -> None:
    request, _ = make_request(b"ab", b"", b"cd")
    assert await read_body(request, 4) == b"abcd"


async def test_large_bodies_are_spread_over_iterations_of_the_loop() -> None:
    """The work on each part blocks the event loop."""
    n_returned = 0

    async def read(size: int) -> None:
        nonlocal n_returned
        request, _ = make_request(b"x" * size)
        await read_body(request, LARGE + 1)
        n_returned += 1
        time.sleep(1.1 * SHARE)

    for size, most in ((LARGE + 1, 1), (LARGE, 10)):
        readers = [asyncio.create_task(read(size)) for _ in range(10)]
        before = n_returned
        held_up: list[int] = []
        while not all(reader.done() for reader in readers):
            await asyncio.sleep(0)
            held_up.append(n_returned - before)
            before = n_returned
        assert max(held_up) == most


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (FORM, b"q=" + b"%41" * 200_000),
        (FORM, b"q=" + b"%41a" * 150_000),
        (FORM, b"q=" + b"%" * 600_000),
        (FORM, b"a=%41&" * 19_000),
        (MULTIPART, PARTS.replace(b"--x--\r\n", b"") * 5_000 + b"--x--\r\n"),
    ],
)
async def test_a_form_is_read_in_portions_between_which_others_work(
    kind: str, content: bytes
) -> None:
    """Each portion is measured in the thread's processor time; between portions, others run."""
    request, _ = make_request(content, content_type=kind)
    reading = asyncio.create_task(read_parameters(request, len(content)))
    longest = 0.0
    gc.disable()  # it would collect what other tests have left, for longer than a portion
    try:
        while not reading.done():
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)
    finally:
        gc.enable()
    assert await reading
    assert longest < 3 * SHARE  # allow for the last portion and a slow processor


async def test_fields_are_decoded_as_elsewhere() -> None:
    """Escapes at the bounds of portions; otherwise as the standard library decodes them."""
    filler = b"x" * (LARGE - 3)
    values = [
        *(filler + b"x" * n + "é%C3%A9%e2%82%acé".encode() for n in range(6)),
        b"%", b"%4", b"%4g", b"%%41", b"%C3", b"%C3\xc3\xa9", b"%e2%82", b"+%2B+", b"a=b=%3d", b"",
    ]  # fmt: skip
    content = b"&&" + b"&".join(b"q%71=" + value for value in values) + b"&alone&=nameless"
    request, _ = make_request(content, content_type=FORM)
    expected = parse_qsl(content.decode(), keep_blank_values=True)
    assert await read_parameters(request, len(content)) == gather(expected)


async def test_too_long_a_body_is_read_no_further() -> None:
    request, n_read = make_request(b"abc", b"de", b"f")
    assert await status_of(read_body(request, 4)) == 413
    assert n_read() == 2


@pytest.mark.parametrize("announced", ["5", "9" * 5000])
async def test_too_long_a_body_that_is_announced_is_not_read(announced: str) -> None:
    request, n_read = make_request(b"abcde", content_length=announced)
    assert await status_of(read_body(request, 4)) == 413
    assert n_read() == 0


@pytest.mark.parametrize(("coding", "status"), cases(__file__, "a_compressed_body_is_refused"))
async def test_a_compressed_body_is_refused(coding: str, status: int | None) -> None:
    request, n_read = make_request(b"abcd", content_encoding=coding)
    if status is None:
        assert await read_body(request, 4) == b"abcd"
    else:
        assert await status_of(read_body(request, 4)) == status
        assert n_read() == 0


@pytest.mark.parametrize(
    ("kind", "content", "is_json", "is_form"),
    [
        (None, b"{}", True, False),
        (JSON, b"", True, False),
        ("Application/JSON; charset=utf-8", b"", True, False),
        ("application/ld+json", b"", True, False),
        ("text/ld+json", b"", False, False),
        ("text/plain", b"{}", False, False),
        (FORM, b"a=1", False, True),
        (FORM, b' \n{"a": 1}', True, False),  # curl -d '{…}'
        (MULTIPART, b"{", False, True),
    ],
)
def test_what_a_body_is(kind: str | None, content: bytes, is_json: bool, is_form: bool) -> None:
    headers = Headers({} if kind is None else {"content-type": kind})
    body = Body(content, headers)
    assert (body.is_json, body.is_form) == (is_json, is_form)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a":\n xyz}', "line 2, column 2"),
        (b'"\xff"', "not UTF-8: error at byte 1"),
        (b"NaN", "a number is invalid"),
        (b"1" * 5000, "a number is invalid or has too many digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "line 1, column 1"),
    ],
)
async def test_malformed_json_is_reported_by_position_alone(content: bytes, message: str) -> None:
    request, _ = make_request(content, content_type=JSON)
    with pytest.raises(MalformedJsonError, match=message) as raised:
        await read_json(request, 1_000_000)
    assert "xyz" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "chunks", "query", "expected"),
    [
        (JSON, [b'{"a": 1,', b' "b": [2]}'], b"", {"a": 1, "b": [2]}),
        (FORM, [b"a=1&a=2&b=&c=%C3%A9+x"], b"", {"a": ["1", "2"], "b": "", "c": "é x"}),
        (MULTIPART, [PARTS], b"", {"text": ["un", "deux"]}),
        (JSON, [b'{"a": 1}'], b"a=0&b=2", {"a": 1, "b": "2"}),  # the body has precedence
        ("text/plain", [b""], b"a=1&a=2", {"a": ["1", "2"]}),
    ],
)
async def test_parameters(
    kind: str, chunks: Sequence[bytes], query: bytes, expected: dict[str, object]
) -> None:
    request, _ = make_request(*chunks, query=query, content_type=kind)
    assert await read_parameters(request, 1000) == expected


@pytest.mark.parametrize(
    ("kind", "content", "error"),
    [
        (JSON, b"[1]", InvalidRequestError),
        (FORM, b"a=\xff", MalformedFormError),
        (FORM, b"a&" * (MAX_FORM_FIELDS + 1), MalformedFormError),
        (MULTIPART, b"--y\r\n", MalformedFormError),
        ("multipart/form-data", PARTS, MalformedFormError),
        ("image/png", b"x", HTTPException),
    ],
)
async def test_malformed_parameters(kind: str, content: bytes, error: type[Exception]) -> None:
    request, _ = make_request(content, content_type=kind)
    with pytest.raises(error):
        await read_parameters(request, 100_000)


def part(name: str, content: bytes = b"cat", *headers: bytes) -> bytes:
    lines = [b"--x", f"Content-Disposition: form-data{name}".encode(), *headers, b"", content, b""]
    return b"\r\n".join(lines)


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("multipart/form-data", part("; name=a"), "missing boundary"),
        (MULTIPART, part(""), 'field "name" must be provided'),
        (MULTIPART, part('; name=f; filename="a"') * 2, "maximum number of files is 1"),
        (MULTIPART, part("; name=a") * 4, "maximum number of fields is 3"),
        (MULTIPART, part("; name=a", b"secret" * 1000), "exceeded maximum size of 1kb"),
        (MULTIPART, part(f"; name=a; filename={'secret' * 1000}"), "maximum header size exceeded"),
        (MULTIPART, part("; name=a", b"", *[b"X: secret"] * 20), "maximum header count exceeded"),
        (MULTIPART, b"--secret\r\n", "invalid multipart data"),
    ],
)
async def test_a_form_that_cannot_be_read_says_why(kind: str, content: bytes, reason: str) -> None:
    headers = Headers({"Content-Type": kind})
    with pytest.raises(MalformedFormError) as raised:
        await parse_multipart(
            headers, content + b"--x--\r\n", max_files=1, max_fields=3, max_part_size=1024
        )
    assert reason in str(raised.value).lower()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", [b"; name=a", b'; name=f; filename="a"'])
async def test_a_form_that_ends_early_loses_no_field_in_silence(name: bytes) -> None:
    headers = Headers({"Content-Type": MULTIPART})
    limits = {"max_files": 1, "max_fields": 3, "max_part_size": 1024}
    whole = part("; name=b") + part(name.decode()) + b"--x--"
    fields = await parse_multipart(headers, whole, **limits)
    assert len(fields) == 2
    await fields.close()
    for end in range(len(whole)):
        with pytest.raises(MalformedFormError, match=r"before its closing boundary|invalid"):
            await parse_multipart(headers, whole[:end], **limits)
