"""Keys: where clients present them, open paths, fair queuing, and secrecy."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.settings import Settings
from app.wire.openapi import OPEN_PATHS
from tests.app.asking import scheduler
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.server.test_own_failures import Logged, logged
from tests.app.waiting import until

__all__ = ["logged"]

KEYS = "first,s3cond"
NATIVE = {"text": "cat", "target": "fr"}
LIBRE = {"q": "cat", "source": "en", "target": "fr"}
DOWNLOAD = "/download_file/{name}"
DEEPL = {"text": "cat", "source_lang": "EN", "target_lang": "FR"}


@pytest.mark.parametrize("path", [*sorted(OPEN_PATHS - {DOWNLOAD, "/suggest"}), "/openapi.json"])
async def test_open_without_a_key(serve: Serve, path: str) -> None:
    async with serve(FakeEngine(), api_keys=KEYS) as client:
        assert (await client.get(path)).status_code == httpx.codes.OK


async def test_everything_else_requires_a_key_and_openapi_documents_it(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys=KEYS) as client:
        document = (await client.get("/openapi.json")).json()
        protected = [
            (method, path, operation)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
            if path not in OPEN_PATHS
        ]
        for method, path, operation in protected:
            response = await client.request(method, path, json={})
            # LibreTranslate's clients expect 400 where there is no key.
            refused = (400,) if path == "/translate_file" else (401, 403)
            assert response.status_code in refused, (method, path)
            assert str(response.status_code) in operation["responses"], (method, path)
            assert {"bearer": []} in operation["security"]
            assert {} not in operation["security"]
    assert ("post", "/translate") in [(method, path) for method, path, _ in protected]


@pytest.mark.parametrize("key", ["first", "s3cond"])
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "DeepL-Auth-Key"])
async def test_a_key_in_the_header_of_any_dialect(serve: Serve, scheme: str, key: str) -> None:
    async with serve(FakeEngine(), api_keys=KEYS) as client:
        client.headers["Authorization"] = f"{scheme} {key}"
        responses = [
            await client.post("/translate", json=NATIVE),
            await client.post("/translate", json=LIBRE),
            await client.post(
                "/v2/translate", json={"text": "cat", "target_lang": "FR"} | {"source_lang": "EN"}
            ),
            await client.get("/v2/usage"),
            await client.get("/info"),
        ]
    assert [response.status_code for response in responses] == [200] * 5


async def test_a_key_where_libretranslates_clients_put_it(serve: Serve) -> None:
    key = {"api_key": "first"}
    async with serve(FakeEngine(), api_keys=KEYS) as client:
        responses = [
            await client.post("/translate", json=LIBRE | key),
            await client.post("/translate", data=LIBRE | key),
            await client.post("/translate", params=LIBRE | key),
            await client.post("/translate", params=key, json=LIBRE),
        ]
        wrong = await client.post("/translate", json=LIBRE | {"api_key": "third"})
        none = [
            await client.post("/translate", json=LIBRE | {"api_key": key})
            for key in (None, "", 3, ["first"])
        ]
    assert [response.status_code for response in responses] == [200] * 4
    assert wrong.status_code == httpx.codes.FORBIDDEN
    assert [response.status_code for response in none] == [400] * 4


async def test_each_key_has_its_own_count_and_quota(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys=KEYS, character_limit=5) as client:

        async def ask(key: str, text: str) -> int:
            headers = {"Authorization": f"Bearer {key}"}
            body = {"text": text, "target": "fr"}
            return (await client.post("/translate", json=body, headers=headers)).status_code

        async def usage(key: str) -> dict[str, Any]:
            headers = {"Authorization": f"DeepL-Auth-Key {key}"}
            answer: dict[str, Any] = (await client.get("/v2/usage", headers=headers)).json()
            return answer

        assert await ask("first", "cat") == httpx.codes.OK
        assert await ask("first", "cat") == httpx.codes.FORBIDDEN
        assert await ask("s3cond", "house") == httpx.codes.OK
        assert await usage("first") == {"character_count": 3, "character_limit": 5}
        assert await usage("s3cond") == {"character_count": 5, "character_limit": 5}


async def test_a_client_that_leaves_is_not_charged(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, request_timeout=0.05) as client:
        await client.post("/translate", json=NATIVE)
        engine.release(100)
        assert (await client.get("/v2/usage")).json()["character_count"] == 0


async def test_usage_is_kept_over_a_restart(serve: Serve, tmp_path: Path) -> None:
    for count in (3, 6):
        async with serve(FakeEngine(), data=tmp_path) as client:
            await client.post("/translate", json=NATIVE)
            assert (await client.get("/v2/usage")).json()["character_count"] == count


async def test_keys_take_turns(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1), n_slots=1)
    async with serve(engine, api_keys=KEYS) as client:
        engine.in_step.clear()
        done: list[str] = []

        async def ask(key: str, name: str) -> None:
            headers = {"Authorization": f"Bearer {key}"}
            body = {"text": f"{name} sees the old dog and the house " * 3, "target": "fr"}
            await client.post("/translate", json=body, headers=headers)
            done.append(name)

        greedy = [asyncio.create_task(ask("first", f"greedy {index}")) for index in range(8)]
        await until(lambda: scheduler(client).load.waiting == len(greedy) - 1)
        modest = asyncio.create_task(ask("s3cond", "modest"))
        await until(lambda: scheduler(client).load.waiting == len(greedy))
        engine.release(100)
        await asyncio.gather(*greedy, modest)
    assert done.index("modest") <= 3


async def test_no_key_is_logged_or_shown(serve: Serve, logged: Logged) -> None:
    settings = Settings.parse(api_keys=KEYS)
    async with serve(FakeEngine(), api_keys=KEYS) as client:
        client.headers["Authorization"] = "Bearer s3cond"
        texts = [
            (await client.post("/translate?api_key=s3cond", json=NATIVE)).text,
            (await client.get("/info")).text,
            (await client.get("/openapi.json")).text,
            (await client.get("/v2/usage")).text,
        ]
    assert "s3cond" not in json.dumps([*texts, logged(), repr(settings), str(settings)])
