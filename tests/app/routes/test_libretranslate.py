"""LibreTranslate's dialect over HTTP; test_official_clients runs its clients."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from app.documents.files import SUFFIXES
from app.wire.dialects.libretranslate import LibreTranslateRequest
from tests.app.asking import answered, native_text, refusal
from tests.app.conftest import Client, Serve, entered
from tests.app.fake_engine import FakeEngine

FORM = "application/x-www-form-urlencoded"
ENGLISH = "My sister bought a new house."
FRENCH = "Ma sœur a acheté une nouvelle maison."
PAIR = {"source": "en", "target": "fr"}
MULTIPART = (
    b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\ncat\r\n'
    b'--x\r\nContent-Disposition: form-data; name="source"\r\n\r\nen\r\n'
    b'--x\r\nContent-Disposition: form-data; name="target"\r\n\r\nfr\r\n--x--\r\n'
)


async def post(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    return await answered(client, **PAIR | body)


@pytest.fixture(scope="module")
def strict(serve: Serve, runner: asyncio.Runner) -> Iterator[Client]:
    yield from entered(runner, serve(FakeEngine(), max_texts=4, max_text_characters=1000))


async def test_a_string_for_a_string_and_a_list_for_a_list(client: Client) -> None:
    cat, dog = await native_text(client, "the cat"), await native_text(client, "old dog")
    assert await post(client, q="the cat") == {"translatedText": cat}
    assert await post(client, q=["the cat"]) == {"translatedText": [cat]}
    assert await post(client, q=["old dog", "the cat", ""]) == {"translatedText": [dog, cat, ""]}


@pytest.mark.parametrize(
    ("query", "headers", "content"),
    [
        ("", {"Content-Type": "application/json"}, json.dumps(PAIR | {"q": "cat"})),
        ("", {}, json.dumps(PAIR | {"q": "cat"})),
        ("", {"Content-Type": FORM}, json.dumps(PAIR | {"q": "cat"})),
        ("", {"Content-Type": FORM}, urlencode(PAIR | {"q": "cat"})),
        ("", {"Content-Type": FORM + "; charset=utf-8"}, urlencode(PAIR | {"q": "cat"})),
        ("", {"Content-Type": "multipart/form-data; boundary=x"}, MULTIPART),
        ("?" + urlencode(PAIR | {"q": "cat"}), {}, b""),
        ("?q=cat", {"Content-Type": "application/json"}, json.dumps(PAIR)),
        ("?q=dog", {"Content-Type": "application/json"}, json.dumps(PAIR | {"q": "cat"})),
        ("?target=fr", {"Content-Type": FORM}, "q=cat&source=en"),
    ],
)
async def test_parameters(
    client: Client, query: str, headers: dict[str, str], content: str | bytes
) -> None:
    response = await client.post("/translate" + query, headers=headers, content=content)
    assert response.json() == {"translatedText": await native_text(client, "cat")}


async def test_a_form_may_have_several_texts_of_any_script(client: Client) -> None:
    response = await client.post("/translate", data=PAIR | {"q": ["cat & dog", "☃ 1"]})
    expected = [await native_text(client, "cat & dog"), "☃ 1"]
    assert response.json() == {"translatedText": expected}


@pytest.mark.parametrize("field", ["source", "target", "format", "api_key"])
@pytest.mark.parametrize("where", ["form", "query"])
async def test_a_field_other_than_q_is_given_once(client: Client, field: str, where: str) -> None:
    fields: dict[str, Any] = {"q": ["cat", "dog"]} | PAIR | {field: ["fr", "en"]}
    sent: dict[str, Any] = {"data": fields} if where == "form" else {"params": fields}
    response = await client.post("/translate", **sent)
    assert response.status_code == httpx.codes.BAD_REQUEST
    assert response.json() == {"error": f"{field}: Field given several times, expected once"}


@pytest.mark.parametrize("given", ["1_0", "+5", "١", " 1", "1.0", "1e0"])
async def test_a_number_in_a_form_has_only_digits(client: Client, given: str) -> None:
    response = await client.post("/translate", data=PAIR | {"q": "cat", "alternatives": given})
    assert response.status_code == httpx.codes.BAD_REQUEST
    message = "Invalid request: alternatives parameter is not a number"
    assert response.json() == {"error": message}


async def test_text_beside_q_is_the_native_dialect(client: Client) -> None:
    both = await client.post("/translate", json={"q": "cat", "text": "cat", "target": "fr"})
    query = await client.post("/translate?q=dog", json={"text": "cat", "target": "fr"})
    assert both.json()["errors"][0]["pointer"] == "/q"
    assert query.json()["model"] == "tiny"


async def test_alternatives_only_on_request(served: Client) -> None:
    one = await post(served, q="the cat", alternatives=3)
    several = await post(served, q=["the cat", "old dog"], alternatives=7)
    assert "alternatives" not in await post(served, q="the cat", alternatives=0)
    native = {"text": "the cat", "target": "fr", "beam_size": 4, "alternatives": 3}
    response = await served.post("/translate", json=native)
    # Hypotheses with the same text are one alternative.
    assert len(one["alternatives"]) == 3
    for translated, others in zip(several["translatedText"], several["alternatives"], strict=True):
        assert 3 <= len(others) <= 7
        assert len({translated, *others}) == 1 + len(others)
    (translation,) = response.json()["translations"]
    assert one["alternatives"] == [other["text"] for other in translation["alternatives"]]


async def test_auto_reports_the_detected_language_of_every_text(client: Client) -> None:
    one = await post(client, q=ENGLISH, source="auto")
    several = await post(client, q=[FRENCH, "1 2 3", ENGLISH], source="Auto")
    assert "detectedLanguage" not in await post(client, q=ENGLISH, source="en")
    assert one["detectedLanguage"]["language"] == "en"
    assert 50 < one["detectedLanguage"]["confidence"] <= 100
    found = several["detectedLanguage"]
    assert [item["language"] for item in found] == ["fr", "en", "en"]
    assert found[1]["confidence"] == 0
    assert several["translatedText"][0] == FRENCH
    assert several["translatedText"][2] == one["translatedText"]


@pytest.mark.parametrize(
    ("query", "headers", "content"),
    [
        ("", {"Content-Type": "application/json"}, json.dumps({"q": "Où est la maison ?"})),
        ("", {"Content-Type": FORM}, urlencode({"q": "Où est la maison ?"})),
        ("?" + urlencode({"q": "Où est la maison ?"}), {}, b""),
    ],
)
async def test_detect(
    client: Client, query: str, headers: dict[str, str], content: str | bytes
) -> None:
    response = await client.post("/detect" + query, headers=headers, content=content)
    best, *others = response.json()
    assert best["language"] == "fr"
    assert 100 >= best["confidence"] > sum(other["confidence"] for other in others)


async def test_detect_in_a_list_and_in_nothing(client: Client) -> None:
    several = (await client.post("/detect", json={"q": [FRENCH, ENGLISH, FRENCH]})).json()
    one = (await client.post("/detect", json={"q": [FRENCH]})).json()
    nothing = (await client.post("/detect", json={"q": "☃ 1"})).json()
    native = (await client.post("/detect", json={"text": FRENCH})).json()
    missing = await client.post("/detect", data={"text": FRENCH})
    empty = await client.post("/detect", json={"q": ""})
    assert [candidate["language"] for candidate in several] == ["fr", "en"]
    assert one == (await client.post("/detect", json={"q": FRENCH})).json()
    assert nothing == [{"confidence": 0, "language": "en"}]
    assert native[0][0]["confidence"] <= 1
    assert refusal(missing, 400, "error") == "q: A form has q; only a JSON object has text"
    assert refusal(empty, 400, "error") == "Invalid request: missing q parameter"


async def test_detect_requires_a_key_if_there_are_any(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys="first") as client:
        with_key = await client.post("/detect", json={"q": FRENCH, "api_key": "first"})
        assert with_key.status_code == httpx.codes.OK
        refusal(await client.post("/detect", json={"q": FRENCH}), 400, "error")
        refusal(await client.post("/detect", data={"q": FRENCH, "api_key": "no"}), 403, "error")
        native = await client.post("/detect", json={"text": FRENCH})
    assert native.status_code == httpx.codes.UNAUTHORIZED


async def test_html_keeps_its_tags_and_escaped_text_stays_escaped(client: Client) -> None:
    html = "<p>the cat &lt;script&gt;</p><br>"
    answer = await post(client, q=html, format="html")
    assert answer == {"translatedText": await native_text(client, html, format="html")}
    assert "<script" not in answer["translatedText"]
    assert answer["translatedText"].startswith("<p>")


async def test_nulls_and_fields_not_known_do_not_matter(client: Client) -> None:
    extra = {"format": None, "alternatives": None, "api_key": None, "secret": "x"}
    assert await post(client, q="cat", **extra) == await post(client, q="cat")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": 3}, "q: "),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": ["cat", 3]}, "q: "),
        ({"q": ["cat"] * 5}, "q: List should have at most 4 items"),
        ({"q": "a" * 1001}, "1,000 characters"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"target": "zh"}, "zh is not supported"),
        ({"source": "xx"}, "xx is not supported"),
        ({"target": 3}, "target: "),
        ({"format": "xml"}, "xml format is not supported"),
        ({"format": 3}, "format should be text or html"),
        ({"format": "a b"}, "format should be text or html"),
        ({"alternatives": -1}, "alternatives: "),
        ({"alternatives": 8}, "alternatives: "),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
    ],
)
async def test_a_fault_is_a_400_by_name(
    strict: Client, changed: dict[str, Any], named: str
) -> None:
    response = await strict.post("/translate", json={"q": "cat"} | PAIR | changed)
    assert named in refusal(response, 400, "error")


@pytest.mark.parametrize(
    ("form", "named"),
    [
        ("text=cat&target=fr", "q: A form has q; only a JSON object has text"),
        ("q=cat&target=fr", "Invalid request: missing source parameter"),
        ("q=cat&source=en&source=fr&target=fr", "source: "),
        ("q=cat&source=en&target=fr&alternatives=1.5", "is not a number"),
        ("", "Invalid request: missing q parameter"),
    ],
)
async def test_a_fault_of_a_form(client: Client, form: str, named: str) -> None:
    headers = {"Content-Type": FORM}
    response = await client.post("/translate", headers=headers, content=form)
    assert named in refusal(response, 400, "error")


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        (FORM, b"q=\xff"),
        (FORM, b"q=a" + b"&q=a" * 20_000),
        ("multipart/form-data", MULTIPART),  # no boundary
        ("multipart/form-data; boundary=y", MULTIPART),
        ("multipart/form-data; boundary=x", MULTIPART[:60]),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="q"; filename="a.txt"\r\n\r\ncat\r\n'
            b"--x--\r\n",
        ),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\ncat"),
    ],
)
async def test_malformed_forms(client: Client, content_type: str, content: bytes) -> None:
    headers = {"Content-Type": content_type}
    response = await client.post("/translate", headers=headers, content=content)
    assert refusal(response, 400, "error")


async def test_health(serve: Serve) -> None:
    async with serve(FakeEngine()) as client:
        assert (await client.get("/health")).json() == {"status": "ok"}
        assert (await client.head("/health")).status_code == httpx.codes.OK
        transport: Any = client._transport
        transport.app.state.lifecycle.drain()
        refusal(await client.get("/health"), 503, "error")


async def test_frontend_settings(serve: Serve) -> None:
    async with serve(FakeEngine(), max_text_characters=77, api_keys="a") as client:
        settings = (await client.get("/frontend/settings")).json()
    assert (settings["apiKeys"], settings["keyRequired"], settings["charLimit"]) == (True, True, 77)
    assert settings["language"] == {
        "source": {"code": "en", "name": "English"},
        "target": {"code": "fr", "name": "French"},
    }
    assert settings["frontendTimeout"] > 0
    assert settings["filesTranslation"] is True
    assert settings["supportedFilesFormat"] == list(SUFFIXES)
    assert "suggestions" in settings


@pytest.mark.parametrize("path", ["/translate", "/detect"])
@pytest.mark.parametrize(
    "body", [b"", b"  ", b"{}", b"[]", b"null", b"3", b'"cat"', b'{"source": "en"}']
)
async def test_missing_texts_fail_in_both_dialects(client: Client, path: str, body: bytes) -> None:
    response = await client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    document = response.json()
    assert document["error"] == "Invalid request: missing q parameter"
    assert document["errors"][0]["pointer"] == "/text"
    assert document["status"] == httpx.codes.UNPROCESSABLE_ENTITY


@pytest.mark.parametrize(
    ("method", "path", "headers", "content", "status", "error"),
    [
        ("POST", "/translate", {}, b'{"q": "cat', 400, "the body is not JSON"),
        ("POST", "/detect", {}, b"{", 400, "the body is not JSON"),
        ("POST", "/translate", {"Content-Type": "text/plain"}, b"q=cat", 400, "the body should be"),
        ("POST", "/detect", {"Content-Type": "text/plain"}, b"q=cat", 400, "the body should be"),
        (
            "POST",
            "/translate_file",
            {"Content-Type": "text/plain"},
            b"",
            400,
            "should be multipart",
        ),
        ("GET", "/translate", {}, b"", 405, "Method Not Allowed"),
        ("GET", "/detect?q=cat", {}, b"", 405, "Method Not Allowed"),
        ("PUT", "/languages", {}, b"", 405, "Method Not Allowed"),
        ("GET", "/translate_file", {}, b"", 405, "Method Not Allowed"),
    ],
)
async def test_errors_that_no_body_explains(
    client: Client, method: str, path: str, headers: dict[str, str], content: bytes,
    status: int, error: str,
) -> None:  # fmt: skip
    response = await client.request(method, path, headers=headers, content=content)
    assert response.status_code == status
    assert error in response.json()["error"]


async def test_a_field_of_the_native_dialect_alone_decides(client: Client) -> None:
    response = await client.post("/translate", json={"target": "fr", "beam_size": 1})
    broken = await client.post("/translate", content=b'{"q": "cat')
    assert response.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert broken.status_code == httpx.codes.BAD_REQUEST
    assert "error" not in response.json()


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ("fr", "fr-CA"), ("en-GB", "en")])
async def test_texts_in_the_target_language_are_returned(
    client: Client, source: str, target: str
) -> None:
    assert await post(client, q="Bonjour", source=source, target=target) == {
        "translatedText": "Bonjour"
    }


async def test_an_unsupported_pair(serve: Serve, row_of_checkpoints: tuple[Path, Path]) -> None:
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        response = await client.post("/translate", json={"q": "a", "source": "de", "target": "fr"})
    assert refusal(response, 400, "error") == "de is not supported"


async def test_older_clients_post_for_the_languages(client: Client) -> None:
    """As `libretranslatepy` 2.1.1 does, with its key in a form."""
    posted = await client.post("/languages", data={"api_key": "x"})
    assert posted.json() == (await client.get("/languages")).json()


async def test_suggestions_are_off(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys="a") as client:
        response = await client.post("/suggest", json={"q": "a", "s": "b"})
    assert refusal(response, 403, "error") == "Suggestions are disabled on this server."


async def test_the_specification_describes_every_route_of_the_dialect(client: Client) -> None:
    document = (await client.get("/spec")).json()
    assert document["swagger"] == "2.0"
    for path, operations in document["paths"].items():
        allowed = (await client.options(path)).headers["Allow"]
        assert all(method.upper() in allowed for method in operations)
    references = set(re.findall("#/definitions/([\\w-]+)", json.dumps(document)))
    assert references <= document["definitions"].keys()
    file, *_ = document["paths"]["/translate_file"]["post"]["parameters"]
    assert file["type"] == "file"
    assert file["description"] == "one of " + ", ".join(SUFFIXES)
    described = document["paths"]["/translate"]["post"]["parameters"]
    fields = LibreTranslateRequest.model_fields.items()
    assert {one["name"]: one["required"] for one in described} == {
        name: field.is_required() for name, field in fields
    }


@pytest.mark.parametrize("origins", [None, "*"])
async def test_allowed_origins_may_send_requests(serve: Serve, origins: str | None) -> None:
    headers = {
        "Origin": "https://a.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    async with serve(FakeEngine(), cors_origins=origins) as client:
        for path in ("/translate", "/detect", "/translate_file", "/languages", "/suggest"):
            preflight = await client.options(path, headers=headers)
            assert preflight.headers["Access-Control-Allow-Origin"] == "*"
        answer = await client.post("/translate", json=PAIR | {"q": "cat"}, headers=headers)
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def test_the_requests_of_libretranslates_own_page(served: Client) -> None:
    """LibreTranslate's page sends `multipart/form-data`, whose values are all strings."""
    settings = (await served.get("/frontend/settings")).json()
    codes = [one["code"] for one in (await served.get("/languages")).json()]
    assert settings["language"]["source"]["code"] in codes
    fields = {"q": ENGLISH, "source": "auto", "target": "fr", "format": "text"}
    fields |= {"alternatives": "3", "api_key": ""}
    form = {name: (None, value) for name, value in fields.items()}
    answer = (await served.post("/translate", files=form)).json()
    assert answer["detectedLanguage"]["language"] == "en"
    assert answer["translatedText"] == await native_text(served, ENGLISH, beam_size=4)
    assert isinstance(answer["alternatives"], list)
    upload: dict[str, Any] = {"file": ("a.txt", b"The house.")}
    upload |= {"source": (None, "en"), "target": (None, "fr")}
    translated = (await served.post("/translate_file", files=upload)).json()
    assert (await served.get(translated["translatedFileUrl"])).status_code == httpx.codes.OK
    better = {"q": (None, "a"), "s": (None, "b"), "source": (None, "en"), "target": (None, "fr")}
    assert "disabled" in refusal(await served.post("/suggest", files=better), 403, "error")
