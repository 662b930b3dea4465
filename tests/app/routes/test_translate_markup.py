"""POST /translate of HTML and XML."""

from collections import Counter
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from app.text.markup import tokens as markup_tokens
from app.text.markup.tokens import Format, tokens
from app.translation import translated_text
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

DOCUMENT = (
    '<div class="a"><p>The <b>old <i>cat</i></b> sees &lt;b&gt; the dog. '
    '<code translate="no">x &amp; y</code> is nice!</p>'
    "<script>if (a &lt; b) f()</script><p>42</p><ul><li>house</li></ul></div>"
)


async def translated(client: httpx.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    response = await client.post("/translate", json={"source": "en", "target": "fr"} | body)
    assert response.status_code == httpx.codes.OK, response.text
    translations: list[dict[str, Any]] = response.json()["translations"]
    return translations


def tags(document: str, markup: Format) -> Counter[str]:
    return Counter(token.raw for token in tokens(document, markup) if token.kind != "text")


@pytest.mark.parametrize("markup", ["html", "xml"])
async def test_every_tag_is_restored_once(served: Client, markup: Format) -> None:
    answers = await translated(
        served, text=[DOCUMENT, "The house"], format=markup, alternatives=1, max_target_tokens=20
    )
    plain = await translated(served, text=["The house"], max_target_tokens=20)
    for answer in (answers[0], *answers[0]["alternatives"]):
        ElementTree.fromstring(answer["text"])
        assert tags(answer["text"], markup) == tags(DOCUMENT, markup)
        assert "<p>42</p>" in answer["text"]
    assert answers[0]["score"] < 0
    assert 0 < answers[0]["confidence"] < 1
    assert answers[1]["score"] == pytest.approx(plain[0]["score"])


async def test_elements_by_their_names(client: Client) -> None:
    text = "<r><k>cat dog</k> <t>cat dog</t></r>"
    [plain] = await translated(client, text=text, format="xml")
    [kept] = await translated(client, text=text, format="xml", ignore_tags=["k"])
    [nothing] = await translated(client, text="<p>1</p>", format="html")
    assert "<k>cat dog</k>" not in plain["text"]
    assert kept["text"].startswith("<r><k>cat dog</k> <t>")
    assert "<t>cat dog</t>" not in kept["text"]
    assert (nothing["text"], nothing["score"], nothing["confidence"]) == ("<p>1</p>", 0, 1)
    assert nothing["alternatives"] == []


async def test_too_many_parts_are_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for all texts of a request, since each part takes memory."""
    monkeypatch.setattr(translated_text, "MAX_DOCUMENTS", 4)
    monkeypatch.setattr(markup_tokens, "MAX_TOKENS", 20)
    async with serve(FakeEngine()) as client:
        for texts, reason in (
            (["<p>a</p>" * 2] * 3, "A request may have 4 paragraphs, cells and lines of markup"),
            (["<p>a</p>" * 9], "Text 0: a document may have 20 tags, comments and texts"),
        ):
            body = {"text": texts, "target": "fr", "format": "html"}
            response = await client.post("/translate", json=body)
            assert response.status_code == httpx.codes.UNPROCESSABLE_ENTITY
            [error] = response.json()["errors"]
            assert error["detail"].startswith(reason)
            assert error["pointer"] == "/text"
        await translated(client, text=["<p>a</p>" * 2] * 2, format="html")
