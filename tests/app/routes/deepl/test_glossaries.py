"""Stored glossaries in DeepL's dialect, with random weights."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.asking import refusal
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

HOMES = {
    "name": " Homes ", "source_lang": "EN", "target_lang": "FR",
    "entries": "house\tdemeure\ncat\tvieux chien", "entries_format": "tsv",
}  # fmt: skip
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def client(serve: Serve) -> AbstractAsyncContextManager[Client]:
    """Return a client of an application for one test, since glossaries are kept."""
    return serve(FakeEngine())


async def stored(client: httpx.AsyncClient, **changed: Any) -> dict[str, Any]:
    response = await client.post("/v2/glossaries", json=HOMES | changed)
    assert response.status_code == httpx.codes.CREATED, response.text
    description: dict[str, Any] = response.json()
    return description


async def test_from_creation_to_deletion(client: Client) -> None:
    first = await stored(client)
    assert first["entry_count"] == 2
    assert (
        first | {"name": "Homes", "ready": True, "source_lang": "en", "target_lang": "fr"} == first
    )
    second = await stored(client, source_lang="fr", target_lang="EN-us", name="Été")
    assert (second["source_lang"], second["target_lang"]) == ("fr", "en")
    listed = (await client.get("/v2/glossaries")).json()
    assert listed == {"glossaries": [first, second]}
    path = f"/v2/glossaries/{first['glossary_id']}"
    assert (await client.get(path)).json() == first
    entries = await client.get(f"{path}/entries")
    assert entries.headers["Content-Type"] == "text/tab-separated-values; charset=utf-8"
    assert entries.text == HOMES["entries"]
    deleted = await client.delete(path)
    assert (deleted.status_code, deleted.content) == (httpx.codes.NO_CONTENT, b"")
    assert (await client.get("/v2/glossaries")).json() == {"glossaries": [second]}
    for response in (
        await client.get(path), await client.get(f"{path}/entries"), await client.delete(path),
    ):  # fmt: skip
        refusal(response, 404, "message")


async def test_a_form_and_csv_are_accepted(client: Client) -> None:
    form = HOMES | {"entries": '"house, big",demeure', "entries_format": "csv"}
    made = await client.post("/v2/glossaries", data=form)
    assert made.status_code == httpx.codes.CREATED
    entries = await client.get(f"/v2/glossaries/{made.json()['glossary_id']}/entries")
    assert entries.text == "house, big\tdemeure"


async def test_all_pairs_are_supported(serve: Serve, row_of_checkpoints: tuple[Path, Path]) -> None:
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        pairs = (await client.get("/v2/glossary-language-pairs")).json()["supported_languages"]
        assert {(pair["source_lang"], pair["target_lang"]) for pair in pairs} == {
            ("fr", "en"), ("en", "fr"), ("en", "de"), ("fr", "de"),
        }  # fmt: skip
        await stored(client, source_lang="FR", target_lang="DE")


@pytest.mark.parametrize(
    ("changed", "status", "named"),
    [
        ({"glossary_id": UNKNOWN}, 404, "glossary"),
        ({"glossary_id": "é\x00"}, 404, "glossary"),
        ({"source_lang": None}, 400, "source_lang"),
        (
            {"source_lang": "FR", "target_lang": "EN"},
            400,
            "glossary_id: No dictionary found for language pair; this glossary is for en to fr",
        ),
        ({"target_lang": "DE"}, 400, ""),
    ],
)
async def test_mismatches(client: Client, changed: dict[str, Any], status: int, named: str) -> None:
    glossary = await stored(client)
    body = {"text": "cat", "source_lang": "EN", "target_lang": "FR"}
    body |= {"glossary_id": glossary["glossary_id"]} | changed
    response = await client.post("/v2/translate", content=json.dumps(body))
    assert named in refusal(response, status, "message")
    again = await client.post("/v2/translate", json={"text": "cat", "target_lang": "FR"})
    assert again.status_code == httpx.codes.OK


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 1025}, "name"),
        ({"name": None}, "name"),
        ({"source_lang": "xx"}, ""),
        ({"target_lang": "EN"}, ""),
        ({"entries": None}, "entries"),
        ({"entries": ""}, "entries: There should be"),
        ({"entries": "house"}, "entries: Entry 1"),
        ({"entries": "a\tb\na\tc"}, "entries: Entry 2"),
        ({"entries": "a\ud800\tb"}, "entries: Entry 1"),
        ({"entries_format": "xml"}, "entries_format"),
    ],
)
async def test_bad_glossaries_are_400(client: Client, changed: dict[str, Any], named: str) -> None:
    response = await client.post("/v2/glossaries", content=json.dumps(HOMES | changed))
    assert named in refusal(response, 400, "message")
    assert (await client.get("/v2/glossaries")).json() == {"glossaries": []}


async def test_every_key_has_its_own(serve: Serve) -> None:
    def by(key: str) -> dict[str, str]:
        return {"Authorization": f"DeepL-Auth-Key {key}"}

    async with serve(FakeEngine(), api_keys="mine,theirs") as client:
        made = await client.post("/v2/glossaries", json=HOMES, headers=by("mine"))
        path = f"/v2/glossaries/{made.json()['glossary_id']}"
        assert (await client.get("/v2/glossaries", headers=by("theirs"))).json() == {
            "glossaries": []
        }
        body = {"text": "cat", "source_lang": "EN", "target_lang": "FR"}
        body |= {"glossary_id": made.json()["glossary_id"]}
        for response in (
            await client.get(path, headers=by("theirs")),
            await client.get(f"{path}/entries", headers=by("theirs")),
            await client.delete(path, headers=by("theirs")),
            await client.post("/v2/translate", json=body, headers=by("theirs")),
        ):
            refusal(response, 404, "message")
        for response in (
            await client.get(path), await client.get("/v2/glossaries"),
            await client.get("/v2/glossary-language-pairs"), await client.delete(path),
            await client.post("/v2/glossaries", json=HOMES), await client.get(f"{path}/entries"),
        ):  # fmt: skip
            refusal(response, 403, "message")
        assert (await client.get(path, headers=by("mine"))).status_code == httpx.codes.OK


async def test_with_a_folder_they_outlive_the_server(serve: Serve, tmp_path: Path) -> None:
    async with serve(FakeEngine(), data=tmp_path / "data") as client:
        made = await stored(client)
    async with serve(FakeEngine(), data=tmp_path / "data") as client:
        assert (await client.get("/v2/glossaries")).json() == {"glossaries": [made]}
    async with serve(FakeEngine()) as client:
        assert (await client.get("/v2/glossaries")).json() == {"glossaries": []}
