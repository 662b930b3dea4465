"""Every failure is reported in the client's dialect, with the expected status."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx
import pytest

from app.main import create_app
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from app.wire.failures import MAX_ERRORS, MAX_FIELD
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.server.test_own_failures import SECRET, BrokenEngine

DialectName = Literal["native", "libretranslate", "deepl"]
Ask = Callable[[httpx.AsyncClient, str], Coroutine[Any, Any, httpx.Response]]


def by_libretranslate(where: Literal["json", "data", "params"]) -> Ask:
    def ask(client: httpx.AsyncClient, text: str) -> Coroutine[Any, Any, httpx.Response]:
        parameters = {where: {"q": text, "source": "en", "target": "fr"}}
        return client.post("/translate", **parameters)  # type: ignore[arg-type]

    return ask


ASK: dict[str, tuple[DialectName, Ask]] = {
    "native": (
        "native",
        lambda client, text: client.post("/translate", json={"text": text, "target": "fr"}),
    ),
    "curl": (
        "native",
        lambda client, text: client.post(
            "/translate",
            content=f'{{"text": "{text}", "target": "fr"}}',
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        ),
    ),
    "libretranslate": ("libretranslate", by_libretranslate("json")),
    "libretranslate form": ("libretranslate", by_libretranslate("data")),
    "libretranslate query": ("libretranslate", by_libretranslate("params")),
    "deepl": (
        "deepl",
        lambda client, text: client.post(
            "/v2/translate", json={"text": [text], "source_lang": "EN", "target_lang": "FR"}
        ),
    ),
}
every_way = pytest.mark.parametrize("way", ASK)


def check(response: httpx.Response, dialect: DialectName, statuses: tuple[int, int, int]) -> str:
    """Check a failure with these statuses in the three dialects; return its message."""
    native, libretranslate, deepl = statuses
    expected = {"native": native, "libretranslate": libretranslate, "deepl": deepl}[dialect]
    assert response.status_code == expected, response.text
    document: dict[str, Any] = response.json()
    assert response.headers["X-Request-ID"]
    assert SECRET not in response.text
    if dialect == "native":
        assert response.headers["Content-Type"] == "application/problem+json"
        assert document["status"] == native
        return str(document["detail"])
    assert response.headers["Content-Type"] == "application/json"
    [(member, message)] = document.items()
    assert member == {"libretranslate": "error", "deepl": "message"}[dialect]
    assert message
    return str(message)


@every_way
async def test_a_full_queue(serve: Serve, way: str) -> None:
    dialect, ask = ASK[way]
    engine = FakeEngine(gate=threading.Semaphore(1))  # one step, for the warm-up
    async with serve(engine, max_concurrent_requests=1) as client:
        engine.in_step.clear()
        first = asyncio.create_task(ask(client, "cat"))
        await asyncio.to_thread(engine.in_step.wait, 60)
        response = await ask(client, "cat")
        engine.release(10)
        assert (await first).status_code == httpx.codes.OK
    assert int(response.headers["Retry-After"]) >= 1
    if way in ("libretranslate query", "deepl"):
        check(response, dialect, (429, 429, 429))
    else:  # the dialect depends on the body, which is not read
        check(response, "native", (429, 429, 429))
        assert response.json()["error"] == response.json()["detail"]


@every_way
async def test_a_deadline(serve: Serve, way: str) -> None:
    dialect, ask = ASK[way]
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, request_timeout=0.05) as client:
        response = await ask(client, "cat")
        engine.release(10)
    assert "0.05 s" in check(response, dialect, (504, 504, 503))


@every_way
async def test_an_engine_that_breaks_down(serve: Serve, way: str) -> None:
    dialect, ask = ASK[way]
    engine = BrokenEngine()
    async with serve(engine) as client:
        engine.broken = True
        response = await ask(client, SECRET)
    check(response, dialect, (500, 500, 500))


@every_way
async def test_an_unexpected_exception(
    serve: Serve, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(SECRET)

    dialect, ask = ASK[way]
    async with serve(FakeEngine()) as client:
        monkeypatch.setattr("app.translation.translated_text.open_documents", fail)
        response = await ask(client, SECRET)
    assert "request ID" in check(response, dialect, (500, 500, 500))


@every_way
async def test_a_text_that_is_too_long(serve: Serve, way: str) -> None:
    dialect, ask = ASK[way]
    async with serve(FakeEngine(), max_text_characters=9) as client:
        response = await ask(client, SECRET * 2)
    assert "9 characters" in check(response, dialect, (422, 400, 413))


@every_way
async def test_a_body_that_is_too_large(serve: Serve, way: str) -> None:
    if way in ("libretranslate", "curl", "libretranslate query"):
        pytest.skip("the dialect depends on the body, which is missing or was not read")
    dialect, ask = ASK[way]
    async with serve(FakeEngine(), max_body_bytes=90) as client:
        response = await ask(client, SECRET * 20)
    assert "90 bytes" in check(response, dialect, (413, 413, 413))


@asynccontextmanager
async def starting(checkpoint: object, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    loading = threading.Event()

    def load(_: Settings, __: Metrics) -> Runtime:
        loading.wait(60)
        raise RuntimeError

    app = create_app(Settings.parse(checkpoint=checkpoint, **settings), load, lambda _: None)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://attend") as client,
    ):
        yield client
        loading.set()


@every_way
async def test_a_server_that_starts(tiny_checkpoint: object, way: str) -> None:
    dialect, ask = ASK[way]
    async with starting(tiny_checkpoint) as client:
        response = await ask(client, SECRET)
    check(response, dialect, (503, 503, 503))
    assert response.headers["Retry-After"] == "1"


@pytest.mark.parametrize("path", ["/health", "/frontend/settings"])
async def test_libretranslates_paths_at_the_start(tiny_checkpoint: object, path: str) -> None:
    async with starting(tiny_checkpoint) as client:
        check(await client.get(path), "libretranslate", (503, 503, 503))


async def test_deepls_paths_at_the_start(tiny_checkpoint: object) -> None:
    async with starting(tiny_checkpoint) as client:
        check(await client.get("/v2/languages"), "deepl", (503, 503, 503))
        assert (await client.get("/v2/usage")).status_code == httpx.codes.OK


@every_way
async def test_a_key_that_is_missing_or_wrong(serve: Serve, way: str) -> None:
    dialect, ask = ASK[way]
    async with serve(FakeEngine(), api_keys="right,other") as client:
        missing = await ask(client, SECRET)
        client.headers["Authorization"] = "Basic right"
        of_another_scheme = await ask(client, SECRET)
        client.headers["Authorization"] = "Bearer wrong"
        wrong = await ask(client, SECRET)
        client.headers["Authorization"] = "DeepL-Auth-Key other"
        assert (await ask(client, SECRET)).status_code == httpx.codes.OK
    for response in (missing, of_another_scheme):
        assert "required" in check(response, dialect, (401, 400, 403))
    assert "unknown" in check(wrong, dialect, (401, 403, 403))
    for response in (missing, wrong):
        assert response.headers.get("WWW-Authenticate") == (
            "Bearer" if dialect == "native" else None
        )


@every_way
async def test_a_quota_that_is_used_up(serve: Serve, way: str) -> None:
    dialect, ask = ASK[way]
    async with serve(FakeEngine(), character_limit=5) as client:
        assert (await ask(client, "cat")).status_code == httpx.codes.OK
        response = await ask(client, "cat")
        assert (await ask(client, "ab")).status_code == httpx.codes.OK
    assert "3 of the 5 characters" in check(response, dialect, (403, 403, 456))


@pytest.mark.parametrize(
    ("method", "path", "content_type", "dialect", "statuses"),
    [
        ("GET", "/v2/nothing", None, "deepl", (404, 404, 404)),
        ("GET", "/v2/", None, "deepl", (404, 404, 404)),
        ("GET", "/v2", None, "native", (404, 404, 404)),
        ("GET", "/v2/translate", None, "deepl", (405, 405, 405)),
        ("DELETE", "/v2/usage", None, "deepl", (405, 405, 405)),
        ("POST", "/v2/translate", "text/plain", "deepl", (415, 415, 415)),
        ("GET", "/translate", None, "native", (405, 405, 405)),
        ("GET", "/translate?q=cat", None, "libretranslate", (405, 405, 405)),
        ("POST", "/health", None, "libretranslate", (405, 405, 405)),
        ("PUT", "/frontend/settings", None, "libretranslate", (405, 405, 405)),
        ("POST", "/translate", "text/plain", "native", (400, 400, 400)),
        ("POST", "/translate?q=cat", "text/plain", "libretranslate", (415, 400, 415)),
        ("POST", "/translate", "application/json", "native", (400, 400, 400)),
        ("POST", "/translate?q=cat", "application/json", "libretranslate", (400, 400, 400)),
    ],
)
async def test_requests_that_http_itself_refuses(
    client: Client, method: str, path: str, content_type: str | None, dialect: DialectName,
    statuses: tuple[int, int, int],
) -> None:  # fmt: skip
    headers = {"Content-Type": content_type} if content_type else {}
    response = await client.request(
        method, path, headers=headers, content=SECRET if content_type else None
    )
    check(response, dialect, statuses)
    if response.status_code == httpx.codes.METHOD_NOT_ALLOWED:
        assert response.headers["Allow"]
    if response.status_code == httpx.codes.UNSUPPORTED_MEDIA_TYPE:
        assert "application/json" in response.headers["Accept-Post"]


async def test_a_thousand_faults_are_not_a_thousand_lines(client: Client) -> None:
    body = {"text": 5, "target_lang": 5, "tag_handling": "b", "glossary_id": 5, "style_id": 5}
    message = check(await client.post("/v2/translate", json=body), "deepl", (400, 400, 400))
    assert message.count("; ") == MAX_ERRORS - 1
    body = {"text": "a", "target_lang": "FR", "ignore_tags": ["a" * 200] * 1000}
    message = check(await client.post("/v2/translate", json=body), "deepl", (400, 400, 400))
    assert message.count("ignore_tags/") == 1
    assert len(message) < MAX_FIELD + 100
