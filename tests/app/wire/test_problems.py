"""Every failure has a problem document without any text."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app import errors
from app.translation import explainer
from app.wire.problems import KINDS, MAX_ERRORS
from tests.app.conftest import Client, Serve, entered
from tests.app.fake_engine import FakeEngine

SECRET = "xyxxy"


@pytest.fixture(scope="module")
def strict(serve: Serve, runner: asyncio.Runner) -> Iterator[Client]:
    yield from entered(runner, serve(FakeEngine(), max_texts=4))


def problem(response: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """Check the members of every problem document, and return it."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["type"] == f"urn:problem-type:attend:{slug}"
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert document["request_id"] == response.headers["X-Request-ID"]
    assert SECRET not in response.text
    return document


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"text": 3}, "/text"),
        ({"text": None}, "/text"),
        ({"text": {"a": SECRET}}, "/text"),
        ({"text": [SECRET, 3]}, "/text"),
        ({"text": []}, "/text"),
        ({"text": [SECRET] * 5}, "/text"),  # four are allowed
        ({"source": 1}, "/source"),
        ({"source": "a-" * 100}, "/source"),
        ({"source": "\ud800"}, "/source"),
        ({"target": ["fr"]}, "/target"),
        ({"target": None}, "/target"),
        ({"beam_size": 0}, "/beam_size"),
        ({"beam_size": 9}, "/beam_size"),
        ({"beam_size": 10**30}, "/beam_size"),
        ({"beam_size": "4"}, "/beam_size"),
        ({"beam_size": 4.5}, "/beam_size"),
        ({"beam_size": True}, "/beam_size"),
        ({"alternatives": -1}, "/alternatives"),
        ({"alternatives": 2}, "/alternatives"),  # the checkpoint's beam is 2
        ({"alternatives": 4, "beam_size": 4}, "/alternatives"),
        ({"length_penalty": -1}, "/length_penalty"),
        ({"length_penalty": 1e300}, "/length_penalty"),
        ({"length_penalty": "0.6"}, "/length_penalty"),
        ({"max_target_tokens": 0}, "/max_target_tokens"),
        ({"max_target_tokens": 1.5}, "/max_target_tokens"),
        ({"attention": 1}, "/attention"),
        ({"attention": None}, "/attention"),
        ({"attention": "cross"}, "/attention"),
        ({"attention": {"kind": SECRET}}, "/attention/kind"),
        ({"attention": {"layers": "first"}}, "/attention/layers"),
        ({"attention": {"layers": []}}, "/attention/layers"),
        ({"attention": {"layers": [2]}}, "/attention/layers"),
        ({"attention": {"layers": [-1]}}, "/attention/layers"),
        ({"attention": {"layers": [0, 0]}}, "/attention/layers"),
        ({"attention": {"layers": [10**30]}}, "/attention/layers"),
        ({"attention": {"layers": [True]}}, "/attention/layers"),
        ({"attention": {"heads": [4]}}, "/attention/heads"),
        ({"attention": {"heads": {}}}, "/attention/heads"),
        ({"attention": {"encoding": "hex"}}, "/attention/encoding"),
        ({"attention": {"head": "all"}}, "/attention/head"),
        ({"format": "md"}, "/format"),
        ({"format": "html", "attention": True}, "/attention"),
        ({"format": "xml", "alignment": True}, "/alignment"),
        ({"format": "xml", "text": "a < b"}, "/text"),
        ({"ignore_tags": "b"}, "/ignore_tags"),
        ({"ignore_tags": [1]}, "/ignore_tags/0"),
        ({"split_sentences": 0}, "/split_sentences"),
        ({"alignment": 1}, "/alignment"),
        ({"split_sentences": "newlines"}, "/split_sentences"),
        ({"split_sentences": None}, "/split_sentences"),
        ({"stream": 1}, "/stream"),
        ({"beamsize": 4}, "/beamsize"),
        ({"a/b~c": 4}, "/a~1b~0c"),
        ({"target": ""}, "/target"),
        ({"source": ""}, "/source"),
    ],
)
async def test_a_faulty_field_is_named(
    strict: Client, fields: dict[str, Any], pointer: str
) -> None:
    body = {"text": SECRET, "target": "fr"} | fields
    response = await strict.post("/translate", content=json.dumps(body))
    document = problem(response, 422, "invalid-request")
    assert [error["pointer"] for error in document["errors"]] == [pointer]
    assert all(error["detail"] for error in document["errors"])


@pytest.mark.parametrize("body", ["{}", "[]", "3", "null", f'"{SECRET}"', '{"\\ud800": 1}'])
async def test_json_that_is_not_a_request(client: Client, body: str) -> None:
    response = await client.post("/translate", content=body)
    assert problem(response, 422, "invalid-request")["errors"]


@pytest.mark.parametrize(
    "body",
    ['{"text": "a", "text": "b"}', '{"text": "a", "attention": {"layers": "all", "layers": 1}}'],
)
async def test_a_key_that_an_object_has_twice_is_refused(client: Client, body: str) -> None:
    response = await client.post("/translate", content=body)
    assert "twice" in problem(response, 422, "malformed-json")["detail"]


async def test_a_thousand_faults_are_not_a_thousand_lines(client: Client) -> None:
    body: dict[str, Any] = {"text": "a"}
    body |= {f"{n}-{'long' * 1000}": 1 for n in range(90)}
    response = await client.post("/translate", json=body)
    assert len(problem(response, 422, "invalid-request")["errors"]) == MAX_ERRORS
    assert len(response.content) < 5000


@pytest.mark.parametrize(
    "body",
    [
        b"hello " + SECRET.encode(),
        b'{"text": "' + SECRET.encode(),
        b'{"text": "a", "length_penalty": NaN}',
        b'{"text": "a", "length_penalty": -Infinity}',
        b'{"text": "a", "beam_size": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"text":' * 100_000,
        b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"\xff\xfe\xfd",
        b'{"text": "\xff"}',
        b'{"text": "a\x00b"}',
        b'{"text": "a"} {}',
    ],
)
async def test_a_body_that_is_not_json(client: Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    response = await client.post("/translate", content=body, headers=headers)
    # The status is LibreTranslate's unless the body shows the native dialect.
    problem(response, 422 if b'"text"' in body else 400, "malformed-json")


@pytest.mark.parametrize("length_penalty", ["1e999", "-1e999"])
async def test_a_number_that_overflows_to_infinity(client: Client, length_penalty: str) -> None:
    body = f'{{"text": "a", "target": "fr", "length_penalty": {length_penalty}}}'
    response = await client.post("/translate", content=body)
    assert problem(response, 422, "invalid-request")["errors"][0]["pointer"] == "/length_penalty"


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("text/plain", b'{"text": "a"}', 415),
        ("application/xml", b"<a/>", 400),
        ("json", b"{}", 400),
    ],
)
async def test_a_body_of_another_type(
    client: Client, content_type: str, body: bytes, status: int
) -> None:
    headers = {"Content-Type": content_type}
    response = await client.post("/translate", content=body, headers=headers)
    problem(response, status, "unsupported-media-type")


@pytest.mark.parametrize("announced", ["-1", "1e3", "9" * 5000, "²"])
async def test_an_absurd_content_length_is_not_a_server_error(
    client: Client, announced: str
) -> None:
    response = await client.post(
        "/translate",
        content=b'{"text": "a", "target": "fr"}',
        headers=[(b"Content-Length", announced.encode("latin-1"))],
    )
    assert response.status_code in (200, 413)


@pytest.mark.parametrize("text", ["a" * 300_000, ["cat", "a " * 130_000]])
async def test_a_text_with_too_many_characters(client: Client, text: Any) -> None:
    response = await client.post("/translate", json={"text": text, "target": "fr"})
    assert "250,000" in problem(response, 422, "text-too-long")["detail"]


@pytest.mark.parametrize(
    "codes",
    [
        {"target": "de"},
        {"source": "xx", "target": "fr"},
        {"target": "f"},
        {"target": "fraa"},
        {"target": SECRET},
    ],
)
async def test_languages_that_no_model_has(client: Client, codes: dict[str, str]) -> None:
    response = await client.post("/translate", json={"text": SECRET} | codes)
    assert "en to fr, fr to en" in problem(response, 404, "unknown-languages")["detail"]


async def test_too_much_attention_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainer, "MAX_ATTENTION_WEIGHTS", 90)
    async with serve(FakeEngine()) as client:
        body = {"text": "the cat", "target": "fr", "attention": {"layers": "all", "heads": "all"}}
        response = await client.post("/translate", json=body)
    assert "96" in problem(response, 422, "attention-too-large")["detail"]


async def test_a_deadline_that_passes(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, request_timeout=0.05) as client:
        response = await client.post("/translate", json={"text": "cat", "target": "fr"})
        engine.release(10)
    problem(response, 504, "deadline-exceeded")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
async def test_a_method_that_is_not_allowed(client: Client, method: str) -> None:
    response = await client.request(method, "/translate")
    assert response.headers["Allow"] == "POST"
    if method == "HEAD":
        assert response.status_code == httpx.codes.METHOD_NOT_ALLOWED
    else:
        problem(response, 405, "method-not-allowed")


@pytest.mark.parametrize("path", ["/xyzzy", "/translate/", "/docs/", "/x//", "/%00", "/\ud7ff"])
async def test_a_path_that_is_not_there(client: Client, path: str) -> None:
    response = await client.get(path)
    detail = problem(response, 404, "not-found")["detail"]
    assert detail == "no such path; GET /openapi.json lists all"


def test_every_error_of_the_tree_has_its_row() -> None:
    def leaves(base: type[Exception]) -> set[type[Exception]]:
        below = [one for one in base.__subclasses__() if one.__module__ == errors.__name__]
        return set().union(*map(leaves, below)) if below else {base}

    own = leaves(errors.AppError)
    before_there_is_a_server = {
        errors.SettingsError,
        errors.GoldenSentenceError,
        errors.PullError,
        errors.ModelTooLargeError,
    }
    assert own - set(KINDS) == before_there_is_a_server
