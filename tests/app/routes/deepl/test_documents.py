"""Documents in DeepL's dialect: upload, status, single download, deletion."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.documents.files import FORMATS
from app.routes.deepl import documents
from app.translation import file_service
from tests.app.asking import native_text, refusal
from tests.app.conftest import Client, Serve, entered
from tests.app.fake_engine import FakeEngine
from tests.app.routes.test_files import FILES

UNKNOWN = {"document_id": "0" * 32, "document_key": "0" * 64}


async def upload(
    client: httpx.AsyncClient, name: str = "a.txt", data: bytes = b"the cat", **fields: str
) -> httpx.Response:
    form = {"source_lang": "EN", "target_lang": "FR"} | fields
    return await client.post("/v2/document", files={"file": (name, data)}, data=form)


async def uploaded(
    client: httpx.AsyncClient, name: str = "a.txt", data: bytes = b"the cat", **fields: str
) -> dict[str, str]:
    response = await upload(client, name, data, **fields)
    assert response.status_code == httpx.codes.OK, response.text
    handle: dict[str, str] = response.json()
    return handle


async def ask(
    client: httpx.AsyncClient, handle: dict[str, str], path: str = "", **headers: str
) -> httpx.Response:
    body = {"document_key": handle["document_key"]}
    return await client.post(
        f"/v2/document/{handle['document_id']}{path}", json=body, headers=headers
    )


async def finished(client: httpx.AsyncClient, handle: dict[str, str]) -> dict[str, Any]:
    while (answer := (await ask(client, handle)).json())["status"] in {"queued", "translating"}:
        await asyncio.sleep(0.01)
    status: dict[str, Any] = answer
    return status


@pytest.mark.parametrize("name", FILES)
async def test_every_format_there_and_back(served: Client, name: str) -> None:
    handle = await uploaded(served, name, FILES[name])
    status = await finished(served, handle)
    assert status["status"] == "done", status
    assert status["billed_characters"] > 0
    result = await ask(served, handle, "/result")
    direct = await served.post(
        "/translate_file",
        files={"file": (name, FILES[name])},
        data={"source": "en", "target": "fr"},
        headers={"Accept": "application/octet-stream"},
    )
    suffix = name.removeprefix("a")
    media_type = result.headers["content-type"].partition(";")[0]
    assert media_type == FORMATS[suffix].media_type
    assert f"filename*=UTF-8''a.fr{suffix}" in result.headers["content-disposition"]
    assert suffix == ".docx" or result.content == direct.content


@pytest.fixture(scope="module")
def strict(serve: Serve, runner: asyncio.Runner) -> Iterator[Client]:
    """Yield a client of an application with low limits on files, shared by the tests."""
    limits = {"max_file_bytes": 2000, "max_file_characters": 100}
    yield from entered(runner, serve(FakeEngine(), **limits))


async def test_a_result_is_there_once(client: Client) -> None:
    handle = await uploaded(client)
    assert await finished(client, handle) == {
        "document_id": handle["document_id"], "status": "done", "billed_characters": 7,
    }  # fmt: skip
    first = await ask(client, handle, "/result")
    assert first.text == await native_text(client, "the cat")
    for path in ("", "/result"):
        refusal(await ask(client, handle, path), 404, "message")


async def test_a_form_is_accepted_as_well_as_json(client: Client) -> None:
    handle = await uploaded(client)
    key = {"document_key": handle["document_key"]}
    await finished(client, handle)
    path = f"/v2/document/{handle['document_id']}"
    assert (await client.post(path, data=key)).json()["status"] == "done"
    assert (await client.post(f"{path}/result", data=key)).status_code == httpx.codes.OK
    missing = await client.post(path, json={})
    assert "document_key: " in refusal(missing, 400, "message")


async def test_before_it_is_translated(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "STATUS_WAIT", 0.01)
    engine = FakeEngine(gate=threading.Semaphore(1))  # for the warm-up
    monkeypatch.setattr(file_service, "MAX_FILES", 1)
    async with serve(engine) as client:
        first, second = await uploaded(client), await uploaded(client)
        status = (await ask(client, first)).json()
        assert (status["status"], status["seconds_remaining"]) == ("translating", 1)
        waiting = (await ask(client, second)).json()
        assert waiting == {"document_id": second["document_id"], "status": "queued"}
        refusal(await ask(client, first, "/result"), 503, "message")
        engine.release(1000)
        for handle in (first, second):
            assert (await finished(client, handle))["status"] == "done"


async def test_a_deleted_document_is_free(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "STATUS_WAIT", 0.01)
    engine = FakeEngine(gate=threading.Semaphore(1))
    monkeypatch.setattr(file_service, "MAX_FILES", 1)
    async with serve(engine) as client:
        first, second = await uploaded(client), await uploaded(client)
        assert (await ask(client, first)).json()["status"] == "translating"
        assert (await client.get("/v2/usage")).json()["character_count"] == 14
        for handle in (first, second):
            path = f"/v2/document/{handle['document_id']}"
            key = {"document_key": handle["document_key"]}
            assert (await client.delete(path, params=key)).status_code == httpx.codes.NO_CONTENT
            refusal(await client.delete(path, params=key), 404, "message")
        async with asyncio.timeout(60):
            while (await client.get("/v2/usage")).json()["character_count"]:
                await asyncio.sleep(0.01)
        engine.release(1000)
        third = await uploaded(client)  # the slot is free again
        assert (await finished(client, third))["status"] == "done"


async def test_another_key_cannot_see_it(serve: Serve) -> None:
    mine, theirs = ({"Authorization": f"DeepL-Auth-Key {key}"} for key in ("mine", "theirs"))
    async with serve(FakeEngine(), api_keys="mine,theirs") as client:
        refusal(await upload(client), 403, "message")
        refusal(await ask(client, UNKNOWN), 403, "message")
        client.headers.update(mine)
        handle = await uploaded(client)
        for path in ("", "/result"):
            refusal(await ask(client, handle, path, **theirs), 404, "message")
        wrong = handle | {"document_key": "0" * 64}
        refusal(await ask(client, wrong), 404, "message")
        assert (await finished(client, handle))["status"] == "done"
        assert (await ask(client, handle, "/result")).status_code == httpx.codes.OK


@pytest.mark.parametrize(
    ("name", "data", "fields", "status", "named"),
    [
        ("a.exe", b"x", {}, 400, "file extension"),
        ("a", b"x", {"output_format": "txt"}, 400, "file extension"),
        ("a.json", b"{", {}, 400, "line 1"),
        ("a.txt", b"cat", {"source_lang": "EN-GB"}, 400, "source_lang: EN-GB is only a target"),
        ("a.txt", b"cat", {"target_lang": "XX"}, 400, "target_lang: not supported"),
        ("a.txt", b"cat", {"source_lang": "XX"}, 400, "source_lang: not supported"),
        ("a.txt", b"cat", {"target_lang": ""}, 400, "target_lang: Field required"),
        ("a.txt", b"cat", {"output_format": "docx"}, 400, "output_format: Only txt"),
        ("a.txt", b"cat", {"target_lang": ["FR", "DE"]}, 400, "target_lang: Field given several"),
        ("a.txt", b"cat", {"filename": ["a.txt", "b.txt"]}, 400, "filename: Field given several"),
        ("a.txt", b"cat", {"custom_instructions": ["x", "y"]}, 400, "instructions: Not supported"),
        ("a.txt", b"cat", {"glossary_ids": ["x"] * 6}, 400, "glossary_ids: Input should be a list"),
        ("a.txt", b"cat", {"formality": "more"}, 400, "formality: Target language"),
        ("a.txt", b"cat", {"style_id": "x"}, 400, "style_id: Not supported"),
        ("a.txt", b"cat", {"glossary_id": "x"}, 404, "no glossary"),
        ("a.txt", b"cat" * 100, {}, 413, "100 characters"),
        ("a.txt", b"cat" * 1000, {}, 413, "2,000 bytes"),
    ],
)
async def test_an_upload_that_is_refused(
    strict: Client, name: str, data: bytes, fields: dict[str, Any], status: int, named: str
) -> None:
    response = await upload(strict, name, data, **fields)
    assert named in refusal(response, status, "message")
    assert (await strict.get("/v2/usage")).json()["character_count"] == 0


async def test_bodies_that_are_not_uploads(client: Client) -> None:
    refusal(await client.post("/v2/document", json={}), 415, "message")
    fields = {"target_lang": (None, "FR")}
    response = await client.post("/v2/document", files=fields)
    assert "file: Field required" in refusal(response, 400, "message")


async def test_a_text_in_its_target_language_is_an_error_of_the_document(strict: Client) -> None:
    text = b"La maison est verte et le chien est vieux."
    handle = await uploaded(strict, "a.txt", text, source_lang="")
    status = await finished(strict, handle)
    assert status["error_message"] == "Source and target language are equal"
    refusal(await ask(strict, handle, "/result"), 404, "message")
    assert (await strict.get("/v2/usage")).json()["character_count"] == 0


async def test_a_deadline_is_an_error_of_the_document(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, file_timeout=0.5) as client:
        status = await finished(client, await uploaded(client))
        assert (status["status"], status["error_message"]) == (
            "error", "the answer was not ready within 0.5 s",
        )  # fmt: skip
        engine.release(1000)


async def test_it_is_charged_and_rated_as_any_request(serve: Serve) -> None:
    async with serve(FakeEngine(), character_limit=10, requests_per_minute=2) as client:
        handle = await uploaded(client)
        refusal(await upload(client), 456, "message")
        refusal(await upload(client), 429, "message")
        assert (await finished(client, handle))[
            "status"
        ] == "done"  # requests for the status cost nothing


async def test_the_name_may_be_a_field_of_its_own(client: Client) -> None:
    handle = await uploaded(client, "x", b"the cat", filename="é.txt", output_format="TXT")
    await finished(client, handle)
    result = await ask(client, handle, "/result")
    assert "%C3%A9.fr.txt" in result.headers["content-disposition"]


async def test_the_terms_of_glossaries_are_used(served: Client) -> None:
    made = [
        (
            await served.post(
                "/v2/glossaries",
                json={"name": "A", "source_lang": "en", "target_lang": "fr", "entries": entries},
            )
        ).json()["glossary_id"]
        for entries in ("cat\tvieux chien", "cat\tmaison\ndog\tvieux chat")
    ]
    handle = await uploaded(served, "a.txt", b"The cat and the dog.", glossary_ids=",".join(made))
    assert (await finished(served, handle))["status"] == "done"
    text = (await ask(served, handle, "/result")).text.lower()
    assert "vieux chien" in text
    assert "vieux chat" in text
    assert "maison" not in text
