"""Invalid requests to every route: the message names the field and the valid values."""

import json
from typing import Any

import httpx
import pytest

from app.errors import InvalidRequestError
from app.wire.dialects.deepl import DeepLRequest
from app.wire.dialects.deepl_glossaries import MultilingualGlossaryRequest
from app.wire.dialects.extensions import HcfyRequest, ImmersiveRequest
from app.wire.dialects.openai import ChatRequest
from app.wire.native.fields import WireRequest
from app.wire.native.requests import ExplainRequest, TranslateRequest
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.routes.test_every_route_is_limited import LIMITED

CODE = "Input should be a language code"
TEXTS = "Input should be a string or a list of strings"
TSV = {"source_lang": "en", "target_lang": "fr", "entries": "a\tb"}

NATIVE = "/translate", {"text": "Hi", "target": "fr"}
SCORE = "/score", {"text": "a", "translation": "b", "target": "fr"}
EXPLAIN = "/explain", {"text": "Hi", "target": "fr"}
LIBRE = "/translate", {"q": "Hi", "source": "en", "target": "fr"}
DEEPL = "/v2/translate", {"text": ["a"], "target_lang": "FR"}
V2 = "/v2/glossaries", {"name": "a", **TSV}
V3 = "/v3/glossaries", {"name": "a", "dictionaries": [TSV]}
GOOGLE = "/language/translate/v2", {"q": "a", "target": "fr"}
OPENAI = "/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]}
IMME = "/imme", {"text_list": ["a"], "target_lang": "fr"}
KISS = "/kiss", {"text": "a", "to": "fr"}
HCFY = "/hcfy", {"text": "a", "destination": ["法语"]}
DEEPLX = "/deeplx", {"text": "a", "target_lang": "fr"}
WEB = "/translate_a/single", {"q": "a", "tl": "fr"}

FAULTS: list[tuple[tuple[str, dict[str, Any]], dict[str, Any], str, str]] = [
    # a valid request, the change that makes it invalid, the field, what would be right
    (NATIVE, {"glossary": {"a": 5}}, "glossary/a", "A term should be a string"),
    (NATIVE, {"glossary": {"a": ""}}, "glossary/a", "A term should have 1 to 1024 characters"),
    (NATIVE, {"glossary": {"a/b\n": "c", "a\nb": "d"}}, "glossary/a\nb", "have no line break"),
    (NATIVE, {"glossary": [1]}, "glossary", "Input should be an object"),
    (NATIVE, {"do_not_translate": "x"}, "do_not_translate", "Input should be a list of strings"),
    (NATIVE, {"do_not_translate": {"a": 1}}, "do_not_translate", "be a list of strings"),
    (NATIVE, {"do_not_translate": ["a", 1]}, "do_not_translate/1", "A term should be a string"),
    (NATIVE, {"target": ""}, "target", CODE),
    (NATIVE, {"target": 5}, "target", CODE),
    (NATIVE, {"source": "e" * 36}, "source", CODE),
    (NATIVE, {"attention": {"heads": [0, 0]}}, "attention/heads", "list of different indices"),
    (NATIVE, {"attention": 3}, "attention", "Input should be a boolean or an object"),
    (NATIVE, {"ignore_tags": "b"}, "ignore_tags", "Input should be a list"),
    (NATIVE, {"ignore_tags": ["b"] * 1001}, "ignore_tags", "a list of at most 1000 items"),
    (NATIVE, {"beam_size": 0}, "beam_size", "Input should be greater than or equal to 1"),
    (NATIVE, {"nothing": 1}, "nothing", "Unknown field"),
    (NATIVE, {"text": []}, "text", "The list should have at least one string"),
    (NATIVE, {"text": ["a", 3]}, "text", TEXTS),
    (SCORE, {"translation": ["a", "b"]}, "translation", "List should have as many items as text"),
    (SCORE, {"target": ""}, "target", CODE),
    (EXPLAIN, {"text": ["a"]}, "text", "Input should be a string"),
    (EXPLAIN, {"glossary": {"a": 5}}, "glossary/a", "A term should be a string"),
    (EXPLAIN, {"attention": {"head": -1}}, "attention/head", "greater than or equal to 0"),
    (LIBRE, {"q": 5}, "q", TEXTS),
    (LIBRE, {"target": ""}, "target", "missing target parameter"),
    (LIBRE, {"alternatives": 99}, "alternatives", "Input should be less than 8"),
    (DEEPL, {"text": 5}, "text", TEXTS),
    (DEEPL, {"target_lang": ""}, "target_lang", "Field required"),
    (DEEPL, {"ignore_tags": 5}, "ignore_tags", "Input should be a list of names"),
    (DEEPL, {"ignore_tags": "a," * 1001}, "ignore_tags", "a list of at most 1000 items"),
    (V2, {"entries": ""}, "entries", "There should be at least one entry"),
    (V2, {"entries_format": "x"}, "entries_format", "Input should be 'tsv' or 'csv'"),
    (V3, {"dictionaries": []}, "dictionaries", "Input should be a list of at least 1 item"),
    (V3, {"dictionaries": None}, "dictionaries", "Field required"),
    (V3, {"dictionaries": "x"}, "dictionaries", "Input should be a list"),
    (V3, {"dictionaries": [5]}, "dictionaries/0", "Input should be an object"),
    (V3, {"dictionaries": [TSV | {"entries": "x"}]}, "dictionaries/0/entries", "target term"),
    (GOOGLE, {"target": ""}, "target", CODE),
    (GOOGLE, {"format": "x"}, "format", "Input should be 'html' or 'text'"),
    (OPENAI, {"messages": "x"}, "messages", "Input should be a list"),
    (OPENAI, {"messages": []}, "messages", "Input should be a list of at least 1 item"),
    (OPENAI, {"messages": [5]}, "messages/0", "Input should be an object"),
    (
        OPENAI,
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        "messages/0/content",
        "Input should be a string or a list of parts of type text",
    ),
    (IMME, {"target_lang": ""}, "target_lang", CODE),
    (KISS, {"to": ""}, "to", CODE),
    (HCFY, {"destination": []}, "destination", "Input should be a list of at least 1 item"),
    (DEEPLX, {"target_lang": ""}, "target_lang", CODE),
    (IMME, {"target_lang": "xx"}, "target_lang", "not supported"),
    (KISS, {"to": "xx"}, "to", "not supported"),
    (KISS, {"from": "xx"}, "from", "not supported"),
    (HCFY, {"destination": ["xx"]}, "destination", "Expected Chinese names"),
    (DEEPLX, {"source_lang": "xx"}, "source_lang", "not supported"),
    (WEB, {"sl": "xx"}, "sl", "not supported"),
    (WEB, {"sl": ""}, "sl", CODE),
    (WEB, {"tl": "xx"}, "tl", "not supported"),
    *(
        (one, {name: "\ud800"}, name, "half of a surrogate pair")
        for one, name in (
            (NATIVE, "source"),
            (EXPLAIN, "target"),
            (LIBRE, "source"),
            (DEEPL, "glossary_id"),
            (V2, "target_lang"),
            (GOOGLE, "target"),
            (OPENAI, "model"),
            (IMME, "source_lang"),
            (KISS, "from"),
            (DEEPLX, "tag_handling"),
            (WEB, "tl"),
        )
    ),
]

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
REQUIRED = {  # the first required field
    "/language/translate/v2": "q", "/language/translate/v2/detect": "q", "/translate_a/single": "q",
    "/translate_a/t": "q", "/imme": "target_lang", "/kiss": "to", "/hcfy": "text",
    "/deeplx": "text", "/v2/translate": "target_lang", "/v3/glossaries": "name",
    "/v2/glossaries": "source_lang", "/v3/glossaries/{glossary_id}": "name",
    "/v3/glossaries/{glossary_id}/dictionaries": "source_lang", "/v1/chat/completions": "messages",
    "/v2/document": "multipart/form-data", "/translate_file": "multipart/form-data",
}  # fmt: skip
UNPROCESSABLE = httpx.codes.UNPROCESSABLE_ENTITY


def fault(document: dict[str, Any]) -> tuple[str, str]:
    """The field and the message of an error's first fault, in any dialect."""
    if errors := document.get("errors"):
        return errors[0]["pointer"].removeprefix("/"), errors[0]["detail"]
    message: Any = document.get("message") or document["error"]
    message = message["message"] if isinstance(message, dict) else message
    field, _, detail = message.partition(": ")
    if field == "Invalid request":  # LibreTranslate's words
        field = detail.split()[1]
    return field, detail


async def test_each_names_the_field_and_what_would_be_right(serve: Serve) -> None:
    wrong = []
    async with serve(FakeEngine()) as client:
        for (path, valid), change, field, expected in FAULTS:
            body = json.dumps(valid | change)  # httpx would not escape surrogates
            response = await client.post(path, content=body, headers=JSON)
            native = "text" in valid and path in ("/translate", "/score", "/explain")
            found = fault(response.json())
            if (
                response.status_code != (UNPROCESSABLE if native else 400)
                or found[0] != field
                or expected not in found[1]
            ):
                wrong.append((path, change, response.text))
        for path, valid in (NATIVE, SCORE, EXPLAIN, LIBRE, DEEPL, V2, V3, GOOGLE, OPENAI, KISS):
            response = await client.post(path, json=valid)
            assert response.is_success, response.text
    assert not wrong


async def test_an_empty_object_lacks_fields_on_every_route(client: Client) -> None:
    made = await client.post("/v3/glossaries", json=V3[1])
    place = {"glossary_id": made.json()["glossary_id"]}
    answers = {}
    for method, path in LIMITED:
        response = await client.request(method, path.format(**place), json={})
        native = path in ("/translate", "/detect", "/score", "/explain")
        expected = UNPROCESSABLE if native else 415 if path == "/v2/document" else 400
        assert response.status_code == expected, (path, response.text)
        answers[path] = response.text
        assert REQUIRED.get(path, "text") in response.text, (path, response.text)
    assert json.loads(answers["/translate"])["error"] == "Invalid request: missing q parameter"


async def test_a_key_that_occurs_twice_is_named_on_every_route_that_reads_json(
    client: Client,
) -> None:
    for method, path in LIMITED:
        response = await client.request(
            method, path, content=b'{"a": 1, "b": 2, "b": 3}',
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        if path not in ("/v2/document", "/translate_file"):
            assert r"the key \"b\" twice" in response.text, path


@pytest.mark.parametrize("path", ["/translate", "/detect"])
async def test_the_refusal_of_a_form_with_the_native_field_names_the_right_one(
    client: Client, path: str
) -> None:
    response = await client.post(path, content=b"text=Hi&target=fr", headers=FORM)
    assert response.status_code == httpx.codes.BAD_REQUEST
    assert fault(response.json()) == ("q", "A form has q; only a JSON object has text")
    response = await client.post(path, content=b"text=Hi&q=cat&source=en&target=fr", headers=FORM)
    assert response.is_success


@pytest.mark.parametrize(
    ("model", "valid", "place"),
    [
        (TranslateRequest, NATIVE[1], "{}"),
        (TranslateRequest, NATIVE[1], '{"attention": {}}'),
        (TranslateRequest, NATIVE[1], '{"ignore_tags": []}'),
        (TranslateRequest, NATIVE[1], '{"glossary": {}}'),
        (TranslateRequest, NATIVE[1], '{"do_not_translate": []}'),
        (TranslateRequest, {}, '{"text": []}'),
        (ExplainRequest, EXPLAIN[1], '{"activations": {}}'),
        (ChatRequest, {}, '{"messages": []}'),
        (ChatRequest, {}, '{"messages": [{"role": "user", "content": []}]}'),
        (HcfyRequest, {"text": "a"}, '{"destination": []}'),
        (ImmersiveRequest, {"target_lang": "fr"}, '{"text_list": []}'),
        (DeepLRequest, DEEPL[1], '{"glossary_ids": []}'),
        (MultilingualGlossaryRequest, {"name": "a"}, '{"dictionaries": []}'),
    ],
)
def test_a_thousand_faults_are_not_a_thousand_errors(
    model: type[WireRequest], valid: dict[str, Any], place: str
) -> None:
    """A body of 2 MB may have a million faults, which would block the event loop for seconds."""
    values = ",".join("5" for _ in range(1000))
    members = ",".join(f'"{index}": 5' for index in range(1000))
    full = place.replace("[]", f"[{values}]").replace("{}", f"{{{members}}}")
    with pytest.raises(InvalidRequestError) as refused:
        model.parse(valid | json.loads(full))
    assert len(refused.value.errors) == 1
