"""`glossary` and `do_not_translate` of POST /translate, with random weights."""

import json
import re
from typing import Any

import httpx
import pytest

from tests.app.asking import answered
from tests.app.conftest import Client, Serve
from tests.app.wire.test_problems import SECRET, problem

TEXT = "The old cat sees the house."
GLOSSARY = {"cat": "vieux chien", "house": "temps"}


async def translated(client: httpx.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    answer = await answered(client, **{"target": "fr"} | body)
    translations: list[dict[str, Any]] = answer["translations"]
    return translations


def contains_terms(text: str, *terms: str) -> bool:
    """Whether the text has each as a whole word, or capitalised at its beginning."""
    small = text[:1].lower() + text[1:]
    return all(re.search(rf"(?<!\w){re.escape(term)}(?!\w)", small) for term in terms)


def is_flagged(answer: dict[str, Any]) -> bool:
    """Whether terms could not be placed, as in most translations with random weights."""
    return "glossary_unmet" in answer["flags"]


@pytest.mark.parametrize("beam_size", [1, 2, 8])
async def test_terms_are_in_every_hypothesis_or_flagged(served: Client, beam_size: int) -> None:
    [answer] = await translated(
        served, text=TEXT, glossary=GLOSSARY, do_not_translate=["sees"], beam_size=beam_size,
        alternatives=beam_size - 1, max_target_tokens=40,
    )  # fmt: skip
    texts = [answer["text"], *(other["text"] for other in answer["alternatives"])]
    assert len(texts) == beam_size
    if not is_flagged(answer):
        for text in texts:
            assert contains_terms(text, "vieux chien", "temps", "sees")


async def test_only_sentences_with_terms_are_different(served: Client) -> None:
    texts = ["The green dog.", TEXT, f"The green dog. {TEXT}", "I like weather"]
    free = await translated(served, text=texts)
    bound = await translated(served, text=texts, glossary=GLOSSARY)
    alone = await translated(served, text=TEXT, glossary=GLOSSARY)
    assert (bound[0], bound[3]) == (free[0], free[3])
    assert bound[1] == alone[0] != free[1]
    assert bound[2]["text"] == f"{free[0]['text']} {alone[0]['text']}"


async def test_terms_without_space_are_flagged(served: Client) -> None:
    short, unspellable, long, many = [
        (await translated(served, text=text, glossary=entries, max_target_tokens=limit))[0]
        for text, entries, limit in (
            (TEXT, GLOSSARY, 2),
            (TEXT, {"cat": "ﬁn"}, 30),
            (TEXT, {"cat": "chat " * 200}, 30),
            ("the cat " * 20, {"cat": "chat"}, 100),
        )
    ]
    assert "glossary_unmet" in short["flags"]
    assert "glossary_unmet" in unspellable["flags"]
    assert "glossary_unmet" in long["flags"]
    assert ("glossary_unmet" in many["flags"]) == (len(re.findall(r"\bchat\b", many["text"])) < 20)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize(
    ("text", "term"), [(TEXT, "chat chat chat"), ("The cat, a cat, the cat and a cat.", "chat")]
)
async def test_terms_that_may_not_be_repeated_are_flagged(
    served: Client, text: str, term: str, beam_size: int
) -> None:
    [answer] = await translated(
        served, text=text, glossary={"cat": term}, beam_size=beam_size, no_repeat_ngram_size=1
    )
    assert answer["text"].count(term) == text.count("cat") or is_flagged(answer)


async def test_terms_go_with_placeholders_alignment_and_attention(served: Client) -> None:
    text = "The cat {cat} and https://cat.org/cat or %(cat)s house"
    [answer] = await translated(
        served, text=text, glossary=GLOSSARY, alignment=True, attention=True
    )
    assert contains_terms(answer["text"], "vieux chien", "temps") or is_flagged(answer)
    for placeholder in ("{cat}", "https://cat.org/cat", "%(cat)s"):
        assert answer["text"].count(placeholder) == 1
    assert answer["segments"]


async def test_terms_go_with_markup(served: Client) -> None:
    text = '<p class="cat">The <b>cat</b> sees <i translate="no">the house</i></p><p>House</p>'
    [answer] = await translated(served, text=text, glossary=GLOSSARY, format="html")
    first, second = answer["text"].split("</p><p>")
    assert '<p class="cat">' in first
    assert '<i translate="no">the house</i>' in first
    texts = [re.sub("<.*?>", "", part) for part in (first, second)]
    assert (
        contains_terms(texts[0], "vieux chien") and contains_terms(texts[1], "temps")
    ) or is_flagged(answer)


async def test_a_term_with_a_full_stop_in_it_is_not_cut(served: Client) -> None:
    text = "The cat likes Foo! Bar and the dog"
    [answer] = await translated(served, text=text, do_not_translate=["Foo! Bar"])
    assert answer["text"].count("Foo! Bar") == 1 or is_flagged(answer)


async def test_terms_survive_a_pivot(serve: Serve, row_of_checkpoints: tuple[Any, Any]) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        [answer] = await translated(
            client, text="le vieux chat", source="fr", target="de", glossary={"chat": "Katze"},
            do_not_translate=["vieux"], max_target_tokens=60,
        )  # fmt: skip
    assert answer["pivot"] == "en"
    assert contains_terms(answer["text"], "Katze", "vieux") or is_flagged(answer)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"glossary": [SECRET]}, "/glossary"),
        ({"glossary": {"cat": 3}}, "/glossary/cat"),
        ({"glossary": {"cat": " "}}, "/glossary/cat"),
        ({"glossary": {"cat": "x" * 1025}}, "/glossary/cat"),
        ({"glossary": None}, "/glossary"),
        ({"glossary": {"cat": "old\ncat"}}, "/glossary/cat"),
        ({"glossary": {"old\u2028cat": "x"}}, "/glossary/old\u2028cat"),
        ({"do_not_translate": ["old\rcat"]}, "/do_not_translate/0"),
        ({"do_not_translate": "cat"}, "/do_not_translate"),
        ({"do_not_translate": ["cat", ""]}, "/do_not_translate/1"),
        ({"do_not_translate": [3]}, "/do_not_translate/0"),
    ],
)
async def test_a_bad_term_is_named(served: Client, fields: dict[str, Any], pointer: str) -> None:
    response = await served.post("/translate", json={"text": "cat", "target": "fr"} | fields)
    document = problem(response, 422, "invalid-request")
    assert [error["pointer"] for error in document["errors"]] == [pointer]


async def test_odd_terms_are_terms(served: Client) -> None:
    entries = {"  cat ": " chat ", "a\ud800b": "x", "🏳️‍🌈": "y", "...": "…", "(": ")"}
    body = {"text": "The cat ( 🏳️‍🌈 ... a\ufffdb", "target": "fr", "glossary": entries}
    response = await served.post("/translate", content=json.dumps(body).encode())
    [answer] = response.json()["translations"]
    assert "chat" in answer["text"] or "glossary_unmet" in answer["flags"]
