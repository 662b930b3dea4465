"""Every route that does work is rate-limited; new routes must be listed here with a request."""

from typing import Any

import httpx

from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

FILE = {"file": ("a.txt", b"The house.")}
TERMS = {"source_lang": "en", "target_lang": "fr", "entries": "cat\tmatou", "entries_format": "tsv"}

LIMITED: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/translate"): {"json": {"text": "cat", "target": "fr"}},
    ("post", "/detect"): {"json": {"text": "the cat sees the house"}},
    ("post", "/score"): {"json": {"text": "cat", "translation": "chat", "target": "fr"}},
    ("post", "/explain"): {"json": {"text": "cat", "target": "fr"}},
    ("post", "/translate_file"): {"files": FILE, "data": {"target": "fr"}},
    ("post", "/v2/translate"): {"json": {"text": ["cat"], "target_lang": "FR"}},
    ("post", "/v2/document"): {"files": FILE, "data": {"target_lang": "FR"}},
    ("post", "/v2/glossaries"): {"json": {"name": "a", **TERMS}},
    ("post", "/v3/glossaries"): {"json": {"name": "a", "dictionaries": [TERMS]}},
    ("patch", "/v3/glossaries/{glossary_id}"): {"json": {"dictionaries": [TERMS]}},
    ("put", "/v3/glossaries/{glossary_id}/dictionaries"): {"json": TERMS},
    ("post", "/language/translate/v2"): {"json": {"q": "cat", "target": "fr"}},
    ("post", "/language/translate/v2/detect"): {"json": {"q": "cat"}},
    ("post", "/translate_a/single"): {"data": {"q": "cat", "tl": "fr"}},
    ("post", "/translate_a/t"): {"data": {"q": "cat", "tl": "fr"}},
    ("post", "/imme"): {"json": {"text_list": ["cat"], "target_lang": "fr"}},
    ("post", "/kiss"): {"json": {"text": "cat", "to": "fr"}},
    ("post", "/hcfy"): {"json": {"text": "cat", "destination": ["法语"]}},
    ("post", "/deeplx"): {"json": {"text": "cat", "target_lang": "FR"}},
    ("post", "/v1/chat/completions"): {"json": {"messages": [{"role": "user", "content": "a"}]}},
}
NOT_LIMITED = {
    ("post", "/suggest"),
    ("post", "/v2/languages"),
    ("post", "/languages"),
    ("post", "/language/translate/v2/languages"),
    ("post", "/v2/usage"),
    ("post", "/v2/document/{document_id}"),
    ("post", "/v2/document/{document_id}/result"),
}


async def test_a_client_that_has_used_its_requests_up_gets_no_work_done(serve: Serve) -> None:
    async with serve(FakeEngine(), requests_per_minute=1) as client:
        made = await client.post("/v3/glossaries", **LIMITED["post", "/v3/glossaries"])
        assert made.status_code == 201, made.text
        place = {"glossary_id": made.json()["glossary_id"]}
        statuses: dict[tuple[str, str], int] = {}
        for (method, path), request in LIMITED.items():
            response = await client.request(method, path.format(**place), **request)
            statuses[method, path] = response.status_code
    assert set(statuses.values()) == {httpx.codes.TOO_MANY_REQUESTS}, statuses


async def test_no_route_is_forgotten(client: Client) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    routes = {(method, path) for path, item in paths.items() for method in item}
    changing = {route for route in routes if route[0] in ("post", "put", "patch")}
    assert changing == LIMITED.keys() | (NOT_LIMITED & changing)
