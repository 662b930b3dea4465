"""Strings that break naive programs are translated or refused with a reason, in every dialect.

Those in this file, and the Big List of Naughty Strings (minimaxir, MIT) where `BLNS` names the
file or it is at corpora/robustness/blns.json.
"""

import json
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.conftest import Client

BLNS = Path(
    os.environ.get("BLNS") or Path(__file__).parents[2] / "corpora" / "robustness" / "blns.json"
)

NASTY = [
    "",
    " \t\r\n\v\f",
    "\x00",
    "a\x00b\x01\x1f\x7f\x80\x9f",
    "\ufeffa\ufffe\uffff",
    "\u202eright to left\u202c \u2066isolated\u2069",
    "a" + "\u0301" * 500,
    "👩‍👩‍👧‍👦🏳️‍🌈 \U0010ffff",
    "\ue0000\ue001 \ue000",
    "{n, plural, one {# file} other {{{{{",
    "%s %n %1$s %%%%% {0} ${x} </x> <x1/>",
    "<p><b><i></p></b></i><!-- <![CDATA[ ]]> &#x0; &#55296; &bogus; & <",
    "<script>alert('</script>')</script><svg onload=alert(1)>",
    "<" * 300,
    "<b>" * 300 + "a" + "</b>" * 300,
    "&amp;" * 300,
    "text=a&target=fr&q=b;%00%zz%C3%28+",
    '{"text": "a", "target": "fr"}',
    "--x\r\nContent-Disposition: form-data; name=q\r\n\r\n",
    "'; DROP TABLE usage; --",
    "$(touch x) `id` | ../../etc/passwd",
    "Ω≈ç√∫˜µ≤≥÷ 田中さん ﷽ Ṱ̺̺̕o͞ ̷i̲̬͇̪͙n̝̗͕v̟̜̘̦͟o̶̙̰̠kè͚̮̺̪̹̱̤",
    "</s> <pad> <unk> <2fr> ▁▁",
    "9" * 400,
    "1e999 NaN -Infinity 0x1F null undefined true",
]
LONE_SURROGATE = "a\ud800b"
EN_FR = {"source": "en", "target": "fr"}
DEEPL = {"source_lang": "EN", "target_lang": "FR"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

Ask = Callable[[httpx.AsyncClient, str], Coroutine[Any, Any, httpx.Response]]
DIALECTS: dict[str, Ask] = {
    "native": lambda client, text: client.post("/translate", json={"text": text} | EN_FR),
    "native html": lambda client, text: client.post(
        "/translate", json={"text": text, "format": "html"} | EN_FR
    ),
    "native xml": lambda client, text: client.post(
        "/translate", json={"text": text, "format": "xml"} | EN_FR
    ),
    "libretranslate": lambda client, text: client.post("/translate", json={"q": text} | EN_FR),
    "libretranslate html": lambda client, text: client.post(
        "/translate", json={"q": text, "format": "html"} | EN_FR
    ),
    "libretranslate form": lambda client, text: client.post("/translate", data={"q": text} | EN_FR),
    "libretranslate multipart": lambda client, text: client.post(
        "/translate", files={name: (None, value) for name, value in ({"q": text} | EN_FR).items()}
    ),
    "libretranslate query": lambda client, text: client.post(
        "/translate", params={"q": text} | EN_FR
    ),
    "deepl": lambda client, text: client.post("/v2/translate", json={"text": [text]} | DEEPL),
    "deepl form": lambda client, text: client.post("/v2/translate", data={"text": text} | DEEPL),
    "deepl html": lambda client, text: client.post(
        "/v2/translate", json={"text": [text], "tag_handling": "html"} | DEEPL
    ),
    "deepl xml": lambda client, text: client.post(
        "/v2/translate", json={"text": [text], "tag_handling": "xml"} | DEEPL
    ),
    "detect": lambda client, text: client.post("/detect", json={"q": text}),
    "as a body": lambda client, text: client.post("/translate", content=text.encode()),
    "as a form": lambda client, text: client.post(
        "/v2/translate", content=text.encode(), headers=FORM
    ),
    "as a key": lambda client, text: client.post("/translate", json={"q": "a", "api_key": text}),
    "as a language": lambda client, text: client.post(
        "/v2/translate", json={"text": "a", "source_lang": text, "target_lang": text or "FR"}
    ),
    "as a tag": lambda client, text: client.post(
        "/v2/translate",
        json={"text": "<a>a</a>", "tag_handling": "xml", "ignore_tags": [text]} | DEEPL,
    ),
    "as a query": lambda client, text: client.post("/translate", params={text or "x": text}),
}


def reason_of(response: httpx.Response) -> str:
    """The message of an error."""
    document: dict[str, Any] = response.json()
    return str(document.get("error") or document.get("message") or document["detail"])


def check(response: httpx.Response, way: str, text: str) -> None:
    about = (way, text, response.status_code, response.text)
    assert response.status_code < 500, about
    if response.status_code != httpx.codes.OK:
        assert len(reason_of(response)) > 5, about
        is_nothing = not text.strip() and way.startswith(("libretranslate", "detect"))
        # The only reason to refuse.
        assert is_nothing or way.startswith("as ") or way.endswith(" xml"), about
        return
    assert response.json(), about


async def ask_all(client: httpx.AsyncClient, way: str, texts: Sequence[str]) -> None:
    for text in texts:
        check(await DIALECTS[way](client, text), way, text)


@pytest.mark.parametrize("way", DIALECTS)
async def test_nasty_strings(client: Client, way: str) -> None:
    await ask_all(client, way, NASTY)


@pytest.mark.skipif(not BLNS.exists(), reason="the Big List of Naughty Strings is not here")
@pytest.mark.parametrize("way", DIALECTS)
async def test_the_big_list_of_naughty_strings(client: Client, way: str) -> None:
    texts = json.loads(BLNS.read_text(encoding="utf-8"))
    assert len(texts) > 500
    await ask_all(client, way, texts)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {"text": LONE_SURROGATE} | EN_FR),
        ("/translate", {"q": LONE_SURROGATE} | EN_FR),
        ("/detect", {"q": LONE_SURROGATE}),
        ("/v2/translate", {"text": [LONE_SURROGATE]} | DEEPL),
    ],
)
async def test_half_a_character_is_replaced(
    client: Client, path: str, body: dict[str, Any]
) -> None:
    response = await client.post(path, content=json.dumps(body))
    assert response.status_code == httpx.codes.OK
    response.content.decode()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {"q": "a", "format": LONE_SURROGATE} | EN_FR),
        ("/translate", {"q": "a", LONE_SURROGATE: 1}),
        ("/translate", {"q": "a", "source": LONE_SURROGATE, "target": "fr"}),
        ("/v2/translate", {"text": ["a"], "source_lang": LONE_SURROGATE, "target_lang": "FR"}),
        ("/v2/translate", {"text": ["a"], "ignore_tags": [LONE_SURROGATE, 3]} | DEEPL),
        ("/v2/translate", {"text": ["a"], "glossary_id": LONE_SURROGATE} | DEEPL),
    ],
)
async def test_other_surrogates_are_refused(
    client: Client, path: str, body: dict[str, Any]
) -> None:
    response = await client.post(path, content=json.dumps(body))
    assert response.status_code == httpx.codes.BAD_REQUEST
    assert reason_of(response)
