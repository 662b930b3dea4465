"""Generated documents and sentences with placeholders keep their tags and placeholders.

Once with random weights, and once with the shipped checkpoint, through a real server.

GENERATED_EXAMPLES=1000 pytest --timeout 1800 tests/app/test_generated_texts.py
"""

import html
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.shipped import SHIPPED_CHECKPOINT
from app.text.markup.document import MarkupDocument
from app.text.markup.tokens import Format, tokens
from app.text.placeholders import ATOM
from benchmarks.sentences import FIXTURE, read_sentences
from tests.app.server_process import serving
from tests.app.text.test_placeholders import PLACEHOLDERS

EXAMPLES = int(os.environ.get("GENERATED_EXAMPLES", "10"))
made_up = settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)

SENTENCES = read_sentences(FIXTURE)
KEPT = [
    '<code translate="no">keep <b>this</b> &amp; that</code>',
    '<i class="notranslate">ACME</i>',
]
BETWEEN_WORDS = st.sampled_from(
    ["", "", "", "", "<!-- a <b> & c -->", '<img src="a.png"/>', "<br/>", "<u></u>", *KEPT]
)
ATTRIBUTES = st.sampled_from(["", "", ' id="1"', " class='a &amp; b'", ' title="x &lt; y"'])
MORE = st.sampled_from(
    ["", "", "", " &lt;b&gt;bold&lt;/b&gt;", " &amp;amp;", " &#233;t&#xe9;", " 5 &gt; 3"]
)


@st.composite
def sentences_with_tags(draw: st.DrawFn) -> str:
    """A sentence with nested and adjacent inline elements."""
    words = [html.escape(word, quote=False) for word in draw(st.sampled_from(SENTENCES)).split()]

    def tagged(words: list[str], depth: int) -> str:
        if not words or not depth or draw(st.booleans()):
            return " ".join(words) + draw(BETWEEN_WORDS)
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(words))] * 2)))
        name, attributes = draw(st.sampled_from(["b", "i", "a", "em", "span"])), draw(ATTRIBUTES)
        element = f"<{name}{attributes}>{tagged(words[start:end], depth - 1)}</{name}>"
        before, after = tagged(words[:start], depth - 1), tagged(words[end:], depth - 1)
        return " ".join(part for part in (before, element, after) if part)

    return tagged(words, 3) + draw(MORE)


def element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, attributes, content: f"<{name}{attributes}>{content}</{name}>",
        st.sampled_from(["p", "div", "li", "td", "h1"]), ATTRIBUTES, inner,
    )  # fmt: skip


BLOCKS = element(sentences_with_tags()) | st.sampled_from(
    ["<script>if (a &lt; b) f('&amp;')</script>", "<p translate='no'>Not <b>this</b>.</p>", "\n"]
)
DOCUMENTS = st.recursive(
    BLOCKS, lambda inner: element(st.lists(inner, max_size=3).map("".join)), max_leaves=5
).map("<div>{}</div>".format)


@st.composite
def sentences_with_placeholders(draw: st.DrawFn) -> tuple[str, list[str]]:
    words = draw(st.sampled_from(SENTENCES)).split()
    placeholders = draw(
        st.lists(st.sampled_from(PLACEHOLDERS), min_size=1, max_size=4, unique=True)
    )
    for placeholder in placeholders:
        words.insert(draw(st.integers(0, len(words))), placeholder)
    return " ".join(words), placeholders


@pytest.fixture(scope="module", params=["random weights", "shipped"])
def client(
    request: pytest.FixtureRequest, tiny_checkpoint: Path, kernels: None
) -> Iterator[httpx.Client]:
    checkpoint = SHIPPED_CHECKPOINT if request.param == "shipped" else tiny_checkpoint
    with serving(checkpoint, "--threads", "1", "--log-level", "error") as (_, client):
        yield client


def translated(client: httpx.Client, texts: list[str], markup: str = "text") -> list[str]:
    body = {"text": texts, "source": "en", "target": "fr", "format": markup}
    response = client.post("/translate", json=body)
    assert response.status_code == httpx.codes.OK, response.text
    return [one["text"] for one in response.json()["translations"]]


def tags(document: str, markup: Format) -> Counter[str]:
    return Counter(token.raw for token in tokens(document, markup) if token.kind != "text")


def letters(texts: list[str]) -> str:
    """Texts without letters are not translated; a space may move with the tag next to it.

    Escaped tags are text if no letter is between them, else elements; they are counted separately.
    """
    return "".join(filter(str.isalpha, re.sub("</?b>", "", "".join(texts))))


@made_up
@given(document=DOCUMENTS, markup=st.sampled_from(["html", "xml"]))
def test_documents_stay_well_formed(client: httpx.Client, document: str, markup: Format) -> None:
    [answer] = translated(client, [document], markup)
    ElementTree.fromstring(answer)  # well-formed
    assert tags(answer, markup) == tags(document, markup)
    for kept in (*KEPT, "<p translate='no'>Not <b>this</b>.</p>", "&lt;b&gt;", "&lt;/b&gt;"):
        assert answer.count(kept) == document.count(kept)
    texts = MarkupDocument(document, markup).texts
    if texts and not any(ATOM.search(text) for text in texts):
        plain = translated(client, texts)
        assert letters(MarkupDocument(answer, markup).texts) == letters(plain)


@made_up
@given(made=sentences_with_placeholders())
def test_placeholders_are_restored_once(client: httpx.Client, made: tuple[str, list[str]]) -> None:
    sentence, placeholders = made
    [answer] = translated(client, [sentence])
    for placeholder in placeholders:
        assert answer.count(placeholder) == sentence.count(placeholder), (placeholder, answer)
