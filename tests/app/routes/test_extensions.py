"""The dialects of browser extensions, with requests from their documentation or source.

Kiss Translator 2.0.31 (src/apis/trans.js, src/libs/translator.js), Immersive Translate 1.23
(content_main.js), the plug-in of DeepLX for Bob, and DeepLX's own service (service/service.go).
"""

import asyncio
import json
from typing import Any

import pytest

from tests.app.asking import content, native_text
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

ENGLISH = "My sister bought a new house in the old town."


async def test_immersive_translate(client: Client) -> None:
    body = {"source_lang": "en", "target_lang": "fr", "text_list": ["the cat", "old dog"]}
    expected = [
        {"detected_source_lang": "en", "text": await native_text(client, text)}
        for text in ("the cat", "old dog")
    ]
    assert content(await client.post("/imme", json=body)) == {"translations": expected}
    detected = await client.post("/imme", json=body | {"source_lang": "auto"})
    assert len(content(detected)["translations"]) == 2


async def test_the_tags_of_immersive_translate_stay(client: Client) -> None:
    text = "the <b0>cat</b0>"
    body = {"source_lang": "en", "target_lang": "fr", "text_list": [text]}
    [one] = content(await client.post("/imme", json=body))["translations"]
    assert one["text"] == await native_text(client, text, format="html")
    plain = body | {"text_list": ["cat < dog & house"]}
    [other] = content(await client.post("/imme", json=plain))["translations"]
    assert other["text"] == await native_text(client, "cat < dog & house")


async def test_kiss_translator(client: Client) -> None:
    cat = {"text": await native_text(client, "the cat"), "src": "en"}
    pair = {"from": "en", "to": "fr"}
    one = await client.post("/kiss", json=pair | {"text": "the cat"})
    assert one.json() == cat
    several = await client.post("/kiss", json=pair | {"texts": ["the cat", "the cat"]})
    assert several.json() == [cat, cat]


NO_KEY = {"content-type": "application/json", "authorization": "Bearer "}
"""The headers of Kiss Translator without a key."""


async def test_kiss_translator_of_a_page_sends_escaped_text(client: Client) -> None:
    pair = {"from": "auto", "to": "fr"}
    plain = f"{ENGLISH} cat < dog"
    one = await client.post("/kiss", json=pair | {"text": plain}, headers=NO_KEY)
    assert one.json() == {"text": await native_text(client, plain, source="auto"), "src": "en"}
    for text in (
        f"{ENGLISH} Tom &amp; Jerry&nbsp;{{1}}",
        "My <i1>sister</i1> bought a new {1} in the <i2>old town</i2>.",
        "My <a i=1>sister</a> bought a new house in the old town.",
    ):
        expected = await native_text(client, text, source="auto", format="html")
        several = await client.post("/kiss", json=pair | {"texts": [text]}, headers=NO_KEY)
        assert several.json() == [{"text": expected, "src": "en"}]


async def test_immersive_translate_marks_what_it_keeps(client: Client) -> None:
    text = "the {0} cat"
    body = {"text_list": [text], "source_lang": "en", "target_lang": "fr"}
    [one] = content(await client.post("/imme", json=body))["translations"]
    assert one["text"] == await native_text(client, text)
    assert "{0}" in one["text"]
    sent = {"source_lang": "auto", "target_lang": "FR", "text": f"{ENGLISH} @0#"}
    assert "@0#" in content(await client.post("/deeplx", json=sent))["data"]


@pytest.mark.parametrize(
    "source", [{}, {"source_lang": ""}, {"source_lang": "auto"}, {"source_lang": "EN"}]
)
async def test_the_clients_of_deeplx(client: Client, source: dict[str, str]) -> None:
    body = {"text": ENGLISH, "target_lang": "FR"} | source
    answer = content(await client.post("/deeplx", json=body, headers=NO_KEY))
    assert (answer["code"], answer["source_lang"]) == (200, "EN")
    assert answer["data"] == await native_text(client, ENGLISH)


async def test_hcfy_names_languages_in_chinese(client: Client) -> None:
    body: dict[str, Any] = {"name": "attend", "text": ENGLISH, "destination": ["英语", "法语"]}
    answer = content(await client.post("/hcfy", json=body))
    assert (answer["from"], answer["to"], answer["text"]) == ("英语", "法语", ENGLISH)
    assert answer["result"] == [await native_text(client, ENGLISH)]
    unknown = await client.post("/hcfy", json=body | {"text": ENGLISH + "\n\ncat", "source": ""})
    assert len(content(unknown)["result"]) == 3
    given = await client.post("/hcfy", json=body | {"text": "Un chat.", "source": "法语"})
    assert content(given)["to"] == "英语"
    wrong = await client.post("/hcfy", json=body | {"destination": ["法文文"]})
    assert wrong.status_code == 400
    assert wrong.json() == {
        "code": 400, "message": "destination: Expected Chinese names of served languages",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/deeplx", "/deeplx/translate"])
async def test_deeplx(client: Client, path: str) -> None:
    body = {"text": "the cat", "source_lang": "EN", "target_lang": "FR"}
    answer = content(await client.post(path, json=body))
    assert answer["code"] == 200
    assert answer["data"] == await native_text(client, "the cat")
    assert (answer["source_lang"], answer["target_lang"]) == ("EN", "FR")
    assert answer["alternatives"] == []


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/imme", {"text_list": ["a"]}, "target_lang"),
        ("/kiss", {"to": "fr"}, "text"),
        ("/hcfy", {"text": "a"}, "destination"),
        ("/hcfy", {"text": "a", "destination": []}, "destination"),
        ("/deeplx", {"target_lang": "FR"}, "text"),
    ],
)
async def test_errors_name_the_field(
    client: Client, path: str, body: dict[str, Any], field: str
) -> None:
    response = await client.post(path, json=body)
    assert response.status_code == 400
    assert response.json()["message"].startswith(f"{field}: ")


async def test_the_key_is_in_the_address(serve: Serve) -> None:
    body = {"text": "cat", "from": "en", "to": "fr"}
    async with serve(FakeEngine(), api_keys="mine") as client:
        assert (await client.post("/kiss", json=body)).status_code == 401
        assert (await client.post("/kiss?token=yours", json=body)).status_code == 401
        assert (await client.post("/kiss?token=mine", json=body)).status_code == 200


async def test_languages_are_read_without_holding_the_models_twice(serve: Serve) -> None:
    body = {"text": ENGLISH, "destination": ["法语"]}
    async with serve(FakeEngine()) as client:
        runtime = client._transport.app.state.lifecycle.open  # type: ignore[attr-defined]
        assert (await client.post("/hcfy", json=body)).status_code == 200
        async with asyncio.timeout(60):
            await runtime.retire()


HALF = "cat \\ud83d"
"""As JSON has it."""
BODIES: dict[str, dict[str, Any]] = {
    "/imme": {"text_list": "cat", "source_lang": "en", "target_lang": "fr"},
    "/kiss": {"text": "cat", "from": "en", "to": "fr"},
    "/hcfy": {"text": "cat", "source": "英语", "destination": ["法语"]},
    "/deeplx": {"text": "cat", "source_lang": "en", "target_lang": "fr"},
}


@pytest.mark.parametrize("path", BODIES)
async def test_half_of_a_surrogate_pair_in_a_text_is_replaced(client: Client, path: str) -> None:
    [name] = {"text", "text_list"} & set(BODIES[path])
    written = {one: await _answer(client, path, name, one) for one in (HALF, "cat \ufffd")}
    assert written[HALF] == written["cat \ufffd"]


async def _answer(client: Client, path: str, name: str, escaped: str) -> Any:
    body = json.dumps(BODIES[path] | {name: "TEXT"}, ensure_ascii=False).replace("TEXT", escaped)
    return content(await client.post(path, content=body.encode(), headers=NO_KEY))
