"""Stored glossaries of versions 3 and 2 of DeepL's API."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from tests.app.asking import refusal
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

TO_FRENCH = {
    "source_lang": "EN",
    "target_lang": "FR",
    "entries": "cat\tvieux chien\nhouse\tdemeure",
}
TO_ENGLISH = {"source_lang": "FR", "target_lang": "EN-US", "entries": "chat\told dog"}
HOMES = {"name": " Homes ", "dictionaries": [TO_FRENCH, TO_ENGLISH]}
PAIR = {"source_lang": "en", "target_lang": "fr-CA"}


@pytest.fixture
def client(serve: Serve) -> AbstractAsyncContextManager[Client]:
    """Return a client of an application for one test, since glossaries are kept."""
    return serve(FakeEngine())


async def stored(client: httpx.AsyncClient, **changed: Any) -> dict[str, Any]:
    response = await client.post("/v3/glossaries", json=HOMES | changed)
    assert response.status_code == httpx.codes.CREATED, response.text
    made: dict[str, Any] = response.json()
    return made


async def entries(client: httpx.AsyncClient, path: str) -> str:
    answer = (await client.get(f"{path}/entries", params=PAIR)).json()
    [dictionary] = answer["dictionaries"]
    assert (dictionary["source_lang"], dictionary["target_lang"]) == ("en", "fr")
    assert dictionary["entries_format"] == "tsv"
    text: str = dictionary["entries"]
    return text


async def test_from_creation_to_deletion(client: Client) -> None:
    made = await stored(client)
    assert made["name"] == "Homes"
    assert made["dictionaries"] == [
        {"source_lang": "en", "target_lang": "fr", "entry_count": 2},
        {"source_lang": "fr", "target_lang": "en", "entry_count": 1},
    ]
    path = f"/v3/glossaries/{made['glossary_id']}"
    assert (await client.get(path)).json() == made
    assert (await client.get("/v3/glossaries")).json() == {"glossaries": [made]}
    assert await entries(client, path) == TO_FRENCH["entries"]
    renamed = (await client.patch(path, json={"name": "Houses"})).json()
    assert renamed == made | {"name": "Houses"}
    more = TO_FRENCH | {"entries": "house,maison\ndog,chien", "entries_format": "csv"}
    merged = (await client.patch(path, json={"dictionaries": [more]})).json()
    assert merged["dictionaries"][0]["entry_count"] == 3
    assert await entries(client, path) == "cat\tvieux chien\nhouse\tmaison\ndog\tchien"
    put = await client.put(f"{path}/dictionaries", json=TO_FRENCH | {"entries": "a\tb"})
    assert put.json() == {"source_lang": "en", "target_lang": "fr", "entry_count": 1}
    assert await entries(client, path) == "a\tb"
    deleted = await client.delete(f"{path}/dictionaries", params=PAIR)
    assert deleted.status_code == httpx.codes.NO_CONTENT
    for response in (
        await client.delete(f"{path}/dictionaries", params=PAIR),
        await client.get(f"{path}/entries", params=PAIR),
    ):
        assert "no dictionary" in refusal(response, 404, "message")
    assert (await client.delete(path)).status_code == httpx.codes.NO_CONTENT
    for response in (
        await client.get(path), await client.delete(path),
        await client.patch(path, json={"name": "x"}),
        await client.put(f"{path}/dictionaries", json=TO_FRENCH),
        await client.get(f"{path}/entries", params=PAIR),
    ):  # fmt: skip
        refusal(response, 404, "message")


async def test_a_form_as_the_client_of_node_sends_it(client: Client) -> None:
    form = {"name": "Homes"} | {
        f"dictionaries[{index}].{field}": value
        for index, one in enumerate([TO_FRENCH, TO_ENGLISH])
        for field, value in one.items()
    }
    made = await client.post("/v3/glossaries", data=form)
    assert made.status_code == httpx.codes.CREATED, made.text
    assert [one["entry_count"] for one in made.json()["dictionaries"]] == [2, 1]
    path = f"/v3/glossaries/{made.json()['glossary_id']}"
    put = await client.put(f"{path}/dictionaries", data=TO_FRENCH | {"entries": "a\tb"})
    assert put.json()["entry_count"] == 1
    changed = await client.patch(
        path, data={"dictionaries[0].source_lang": "EN", "dictionaries[0].target_lang": "FR",
                    "dictionaries[0].entries": "c\td"},
    )  # fmt: skip
    assert changed.json()["dictionaries"][0]["entry_count"] == 2


async def test_version_2_shows_those_of_one_pair_and_version_3_all(client: Client) -> None:
    body = {"name": "B"} | TO_FRENCH
    of_2 = (await client.post("/v2/glossaries", json=body)).json()["glossary_id"]
    one = (await stored(client, dictionaries=[TO_FRENCH]))["glossary_id"]
    two = (await stored(client))["glossary_id"]
    listed = (await client.get("/v2/glossaries")).json()["glossaries"]
    assert [found["glossary_id"] for found in listed] == [of_2, one]
    listed = (await client.get("/v3/glossaries")).json()["glossaries"]
    assert [found["glossary_id"] for found in listed] == [of_2, one, two]
    for path in (f"/v2/glossaries/{two}", f"/v2/glossaries/{two}/entries"):
        assert "use /v3/glossaries" in refusal(await client.get(path), 404, "message")
    refusal(await client.delete(f"/v2/glossaries/{two}"), 404, "message")
    assert (await client.get(f"/v2/glossaries/{one}/entries")).text == TO_FRENCH["entries"]
    await client.patch(f"/v3/glossaries/{of_2}", json={"dictionaries": [TO_ENGLISH]})
    refusal(await client.get(f"/v2/glossaries/{of_2}"), 404, "message")
    await client.delete(f"/v3/glossaries/{of_2}/dictionaries", params=PAIR)
    found = (await client.get(f"/v2/glossaries/{of_2}")).json()
    assert (found["source_lang"], found["target_lang"]) == ("fr", "en")


async def test_a_translation_takes_the_dictionary_of_its_languages(served: Client) -> None:
    made = await stored(served)
    glossary = {"glossary_id": made["glossary_id"]}
    for text, source, target, term in (
        ("The old cat.", "EN", "FR", "vieux chien"), ("Un chat.", "FR", "EN-GB", "old dog"),
    ):  # fmt: skip
        body = {"text": text, "source_lang": source, "target_lang": target} | glossary
        response = await served.post("/v2/translate", json=body)
        assert term in response.json()["translations"][0]["text"].lower()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"name": ""}, "name: "),
        ({"dictionaries": [{}]}, "dictionaries/0/"),
        ({"dictionaries": [TO_FRENCH, TO_FRENCH | {"entries": "a"}]}, "dictionaries/1: There is"),
        ({"dictionaries": [TO_ENGLISH, TO_FRENCH | {"entries": "a"}]}, "dictionaries/1/entries: "),
        ({"dictionaries": [TO_FRENCH | {"target_lang": "XX"}]}, "target_lang: not supported"),
        ({"dictionaries": [TO_FRENCH | {"target_lang": "EN-GB"}]}, "target_lang: Source and"),
        ({"dictionaries": []}, "dictionaries: "),
        ({"dictionaries": None}, "dictionaries: "),
        ({"dictionaries": [TO_FRENCH] * 1001}, "dictionaries: "),
    ],
)
async def test_what_cannot_be_stored(client: Client, changed: dict[str, Any], named: str) -> None:
    response = await client.post("/v3/glossaries", json=HOMES | changed)
    assert named in refusal(response, 400, "message")
    assert (await client.get("/v3/glossaries")).json() == {"glossaries": []}


@pytest.mark.parametrize("body", [{}, {"name": None}, {"name": " "}, {"dictionaries": []}, []])
async def test_a_change_changes_something(client: Client, body: Any) -> None:
    made = await stored(client)
    response = await client.patch(f"/v3/glossaries/{made['glossary_id']}", json=body)
    refusal(response, 400, "message")


async def test_every_key_has_its_own_and_every_change_is_rated(serve: Serve) -> None:
    def by(key: str) -> dict[str, str]:
        return {"Authorization": f"DeepL-Auth-Key {key}"}

    async with serve(FakeEngine(), api_keys="mine,theirs", requests_per_minute=2) as client:
        made = await client.post("/v3/glossaries", json=HOMES, headers=by("mine"))
        path = f"/v3/glossaries/{made.json()['glossary_id']}"
        refusal(await client.get(path), 403, "message")
        refusal(await client.get(path, headers=by("theirs")), 404, "message")
        refusal(await client.delete(path, headers=by("theirs")), 404, "message")
        change = {"dictionaries": [TO_FRENCH]}
        assert (await client.patch(path, json=change, headers=by("mine"))).is_success
        refusal(await client.patch(path, json=change, headers=by("mine")), 429, "message")
        put = await client.put(f"{path}/dictionaries", json=TO_FRENCH, headers=by("mine"))
        refusal(put, 429, "message")


@pytest.mark.parametrize(
    ("method", "path", "feature"),
    [
        ("POST", "/v2/write/rephrase", "improving texts"),
        ("POST", "/v2/write/correct", "improving texts"),
        ("GET", "/v3/style_rules", "style rules"),
        ("PATCH", "/v3/style_rules/x", "style rules"),
        ("GET", "/v3/translation_memories", "translation memories"),
        ("POST", "/v3/translation_memories/import", "translation memories"),
    ],
)
async def test_unsupported_features(serve: Serve, method: str, path: str, feature: str) -> None:
    async with serve(FakeEngine(), api_keys="mine") as client:
        refusal(await client.request(method, path), 403, "message")
        client.headers["Authorization"] = "DeepL-Auth-Key mine"
        assert feature in refusal(await client.request(method, path), 404, "message")
