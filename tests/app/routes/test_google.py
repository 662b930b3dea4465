"""Google's dialects over HTTP."""

from urllib.parse import urlencode

import httpx
import pytest

from tests.app.asking import content, native_text
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

V2 = "/language/translate/v2"
ENGLISH = "My sister bought a new house in the old town."


async def test_texts_in_order_and_their_languages_if_none_is_given(client: Client) -> None:
    cat, dog = await native_text(client, "the cat"), await native_text(client, "old dog")
    given = {"q": ["old dog", "the cat"], "source": "en", "target": "fr", "format": "text"}
    translations = [{"translatedText": dog}, {"translatedText": cat}]
    assert content(await client.post(V2, json=given)) == {"data": {"translations": translations}}
    [one] = content(await client.post(V2, json={"q": ENGLISH, "target": "fr"}))["data"][
        "translations"
    ]
    assert one["detectedSourceLanguage"] == "en"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_parameters_of_the_query(client: Client, method: str) -> None:
    query = urlencode({"q": ["cat", "dog"], "source": "en", "target": "fr"}, doseq=True)
    answer = content(await client.request(method, f"{V2}?{query}"))
    expected = [{"translatedText": await native_text(client, text)} for text in ("cat", "dog")]
    assert answer["data"]["translations"] == expected


async def test_html_is_the_default_format(client: Client) -> None:
    body = {"q": "the <b>cat</b>", "source": "en", "target": "fr"}
    native = await native_text(client, "the <b>cat</b>", format="html", source="en")
    answer = content(await client.post(V2, json=body))
    assert answer["data"]["translations"] == [{"translatedText": native}]


async def test_detection(client: Client) -> None:
    answer = content(await client.post(V2 + "/detect", json={"q": [ENGLISH, "123"]}))
    [[english], [nothing]] = answer["data"]["detections"]
    assert english["language"] == "en"
    assert english["confidence"] > 0.9
    assert nothing == {"language": "en", "confidence": 0, "isReliable": False}


async def test_languages_have_names_on_request(client: Client) -> None:
    plain = content(await client.get(V2 + "/languages"))
    assert plain == {"data": {"languages": [{"language": "en"}, {"language": "fr"}]}}
    named = content(await client.get(V2 + "/languages?target=en"))["data"]["languages"]
    assert named[1] == {"language": "fr", "name": "French"}


async def test_the_page_of_google_as_extensions_call_it(client: Client) -> None:
    cat = await native_text(client, "the cat")
    query = "client=gtx&dt=t&ie=UTF-8&sl=en&tl=fr&q=the%20cat"
    lists = (await client.get(f"/translate_a/single?{query}")).json()
    assert lists == [[[cat, "the cat", None, None, 1]], None, "en"]
    named = (await client.get(f"/translate_a/single?{query}&dj=1")).json()
    assert named == {"sentences": [{"trans": cat, "orig": "the cat"}], "src": "en"}
    several = await client.post("/translate_a/t?client=gtx&sl=en&tl=fr", data={"q": ["the cat"]})
    assert several.json() == [cat]
    detected = await client.post("/translate_a/t", data={"sl": "auto", "tl": "fr", "q": [ENGLISH]})
    [[_, language]] = detected.json()
    assert language == "en"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"q": "cat"}, 400, "target: Field required"),
        ({"target": "fr"}, 400, "q: Field required"),
        ({"q": "cat", "source": "en", "target": "xx"}, 400, "target: not supported"),
    ],
)
async def test_errors_have_googles_form(
    client: Client, body: dict[str, str], status: int, message: str
) -> None:
    response = await client.post(V2, json=body)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["code"] == status
    assert message in error["message"]


async def test_the_key_is_a_parameter_or_a_header(serve: Serve) -> None:
    body = {"q": "cat", "source": "en", "target": "fr"}
    async with serve(FakeEngine(), api_keys="mine") as client:
        assert (await client.post(V2, json=body)).status_code == httpx.codes.UNAUTHORIZED
        assert (await client.post(f"{V2}?key=yours", json=body)).status_code == 401
        assert (await client.post(f"{V2}?key=mine", json=body)).status_code == 200
        with_header = await client.post(V2, json=body, headers={"X-Goog-Api-Key": "mine"})
        assert with_header.status_code == 200
        assert (await client.get(V2 + "/languages")).status_code == 401
