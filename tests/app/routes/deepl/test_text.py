"""DeepL's dialect over HTTP; test_official_clients runs its client."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.app.asking import content, native_text, refusal
from tests.app.conftest import Client, Serve, entered
from tests.app.fake_engine import FakeEngine

PAIR = {"source_lang": "EN", "target_lang": "FR"}


async def post(client: httpx.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    answer = content(await client.post("/v2/translate", json=PAIR | body))
    translations: list[dict[str, Any]] = answer["translations"]
    return translations


@pytest.fixture(scope="module")
def strict(serve: Serve, runner: asyncio.Runner) -> Iterator[Client]:
    yield from entered(runner, serve(FakeEngine(), max_texts=4))


async def test_texts_in_order_with_what_they_cost(client: Client) -> None:
    answers = await post(client, text=["the cat", "", "dög"], show_billed_characters=True)
    texts = [await native_text(client, text) for text in ("the cat", "", "dög")]
    assert [answer["text"] for answer in answers] == texts
    assert [answer["billed_characters"] for answer in answers] == [7, 0, 3]
    assert {answer["detected_source_language"] for answer in answers} == {"EN"}


async def test_a_form_gives_the_same_answer(client: Client) -> None:
    form = [("text", "the cat"), ("text", "a & b"), *PAIR.items(), ("show_billed_characters", "1")]
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await client.post("/v2/translate", headers=headers, content=urlencode(form))
    texts = ["the cat", "a & b"]
    assert response.json()["translations"] == await post(
        client, text=texts, show_billed_characters=True
    )


async def test_the_source_is_found_out_for_every_text(client: Client) -> None:
    texts = ["Ma sœur a acheté une nouvelle maison.", "My sister bought a new house.", "1 2"]
    answers = await post(client, text=texts, source_lang=None, target_lang="EN-US")
    assert [answer["detected_source_language"] for answer in answers] == ["FR", "EN", "FR"]
    assert [answer["text"] for answer in answers[1:]] == texts[1:]


@pytest.mark.parametrize("code", ["EN-US", "EN-GB", "en-us", "EN", "en"])
async def test_variants_of_the_target(client: Client, code: str) -> None:
    [answer] = await post(client, text="chat", source_lang="fr", target_lang=code)
    assert answer["detected_source_language"] == "FR"


@pytest.mark.parametrize(
    ("value", "split"),
    [
        ("1", True), (1, True), (True, True), ("0", False), (0, False), (False, False),
        ("nonewlines", "nonewlines"),
    ],
)  # fmt: skip
async def test_split_sentences(client: Client, value: Any, split: Any) -> None:
    text = "The cat\nsees the dog. The house."
    [answer] = await post(client, text=text, split_sentences=value)
    assert answer["text"] == await native_text(client, text, split_sentences=split)
    others = {
        await native_text(client, text, split_sentences=other)
        for other in (True, False, "nonewlines")
    }
    assert len(others) == 3


@pytest.mark.parametrize("tags", [["k"], ["x", "k"], "k", "x,k", ["x,k"], " k , x "], ids=str)
@pytest.mark.parametrize("form", [False, True])
async def test_tags(client: Client, tags: Any, form: bool) -> None:
    text = "<r>The cat <k>sees</k> the dog</r>"
    body = PAIR | {"text": text, "tag_handling": "xml", "ignore_tags": tags}
    ask = partial(client.post, "/v2/translate")
    response = await (ask(data=body) if form else ask(json=body))
    expected = await native_text(client, text, format="xml", ignore_tags=["k"])
    assert [answer["text"] for answer in response.json()["translations"]] == [expected]
    assert "<k>sees</k>" in expected


async def test_outline_detection(client: Client) -> None:
    text = "<r><p>the cat</p><p>the dog</p></r>"
    [detected] = await post(client, text=text, tag_handling="xml")
    [off] = await post(client, text=text, tag_handling="xml", outline_detection=False)
    [split] = await post(
        client, text=text, tag_handling="xml", outline_detection=False, splitting_tags="p"
    )
    [one] = await post(client, text=text, tag_handling="xml", non_splitting_tags=["p"])
    assert detected == split
    assert off == one != detected


async def test_options_that_change_nothing(client: Client) -> None:
    plain = await post(client, text="The cat.")
    for options in (
        {"formality": "default"}, {"formality": "prefer_less"}, {"formality": "prefer_more"},
        {"context": "It is a pet."}, {"preserve_formatting": True},
        {"tag_handling_version": "v2"}, {"enable_beta_languages": True},
        {"tag_handling": None}, {"tag_handling": ""}, {"something": "else"},
    ):  # fmt: skip
        assert await post(client, text="The cat.", **options) == plain, options


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"text": None}, "text: Field required"),
        ({"text": []}, "text: "),
        ({"text": [3]}, "text: "),
        ({"target_lang": None}, "target_lang: Field required"),
        ({"target_lang": "DE"}, "en to fr"),
        ({"source_lang": "XX"}, "en to fr"),
        ({"formality": "more"}, "formality: "),
        ({"formality": "less"}, "formality: "),
        ({"formality": "rude"}, "formality: "),
        ({"split_sentences": "2"}, "split_sentences: "),
        ({"split_sentences": 2}, "split_sentences: "),
        ({"tag_handling": "md"}, "tag_handling: "),
        ({"tag_handling": "xml", "text": "a < b"}, "text: "),
        ({"ignore_tags": [3]}, "ignore_tags: "),
        ({"ignore_tags": {"a": 1}}, "ignore_tags: "),
        ({"preserve_formatting": "perhaps"}, "preserve_formatting: "),
        ({"style_id": "x"}, "style_id: Not supported"),
        ({"custom_instructions": ["x"]}, "custom_instructions: Not supported"),
        ({"glossary_ids": ["x"] * 6}, "glossary_ids: Input should be a list of at most 5 items"),
        ({"glossary_ids": "a", "glossary_id": "b"}, "glossary_ids: Not with glossary_id"),
        ({"glossary_ids": "a", "source_lang": None}, "source_lang: Field required"),
        ({"translation_memory_threshold": 75}, "translation_memory_threshold: Not supported"),
        ({"model_type": "fast"}, "model_type: "),
        ({"tag_handling_version": "v3"}, "tag_handling_version: "),
        ({"formality": "More"}, "formality: Target language"),
        ({"target_lang": "XX"}, "target_lang: not supported"),
        ({"source_lang": "XX"}, "source_lang: not supported"),
        ({"translation_memory_id": "x"}, "translation_memory_id: Not supported"),
        ({"text": ["cat"] * 5}, "at most 4"),
        ({"text": ["cat"] * 51}, "text: Input should be a list of at most 50 items"),
        ({"source_lang": "EN-US"}, "source_lang: EN-US is only a target; expected EN"),
        ({"source_lang": "pt-br"}, "source_lang: PT-BR is only a target; expected PT"),
    ],
)
async def test_a_fault_is_a_400_by_name(
    strict: Client, changed: dict[str, Any], named: str
) -> None:
    response = await strict.post("/v2/translate", json=PAIR | {"text": "cat"} | changed)
    assert named in refusal(response, 400, "message")


@pytest.mark.parametrize("content", [b"{", b"[]", b"3", b"", b'{"text": "\xff"}'])
async def test_a_body_that_is_not_a_request(client: Client, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    response = await client.post("/v2/translate", headers=headers, content=content)
    assert refusal(response, 400, "message")


async def test_languages(serve: Serve, row_of_checkpoints: tuple[Any, Any]) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        sources = (await client.get("/v2/languages")).json()
        targets = (await client.get("/v2/languages?type=target")).json()
        as_form = await client.request("GET", "/v2/languages", data={"type": "target"})
        posted = await client.post("/v2/languages", data={"type": "target"})
        wrong = await client.get("/v2/languages?type=both")
    assert sources == [
        {"language": "FR", "name": "French"}, {"language": "EN", "name": "English"},
    ]  # fmt: skip
    assert targets == [
        {"language": language, "name": name, "supports_formality": False}
        for language, name in (
            ("EN-GB", "English (British)"), ("EN-US", "English (American)"), ("FR", "French"),
            ("DE", "German"),
        )
    ]  # fmt: skip
    assert as_form.json() == posted.json() == targets
    assert "type: " in refusal(wrong, 400, "message")


async def test_every_method_of_a_path_is_allowed(client: Client) -> None:
    options = await client.options("/v2/languages")
    refused = await client.delete("/v2/languages")
    head = await client.head("/v2/languages")
    assert options.status_code == httpx.codes.NO_CONTENT
    assert options.headers["Allow"] == refused.headers["Allow"] == "GET, HEAD, POST"
    assert head.status_code == httpx.codes.OK


async def test_options_without_effect_are_named_in_a_header(client: Client) -> None:
    for options, named in (
        ({"formality": "prefer_more"}, "formality"),
        ({"formality": "prefer_less", "context": "It is a pet."}, "formality, context"),
        ({"formality": "default", "context": ""}, None),
    ):
        response = await client.post("/v2/translate", json=PAIR | {"text": "cat"} | options)
        assert response.headers.get("X-Ignored-Parameters") == named


async def test_languages_by_resource(serve: Serve, row_of_checkpoints: tuple[Any, Any]) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        found = (await client.get("/v3/languages?resource=translate_text")).json()
        terms = (await client.get("/v3/languages?resource=glossary")).json()
        for wrong in ("", "?resource=voice"):
            refused = await client.get("/v3/languages" + wrong)
            assert "resource: " in refusal(refused, 400, "message")
    assert [
        (one["lang"], one["name"], one["usable_as_source"], one["usable_as_target"])
        for one in found
    ] == [
        ("fr", "French", True, True),
        ("en", "English", True, False),
        ("en-GB", "English (British)", False, True),
        ("en-US", "English (American)", False, True),
        ("de", "German", False, True),
    ]
    assert set(found[0]["features"]) == {"auto_detection", "glossary", "tag_handling"}
    assert terms[0]["features"] == {}


async def test_usage_counts_what_was_translated(serve: Serve) -> None:
    async with serve(FakeEngine()) as client:
        before = (await client.get("/v2/usage")).json()
        await post(client, text=["the cat", "dög"])
        await client.post("/translate", json={"text": "cat", "target": "fr"})
        await client.post("/translate", json={"q": "cat", "source": "en", "target": "fr"})
        await client.post("/v2/translate", json=PAIR | {"text": "cat", "target_lang": "DE"})
        after = (await client.get("/v2/usage")).json()
    assert before == {"character_count": 0, "character_limit": 1_000_000_000_000}
    assert after == before | {"character_count": 16}


@pytest.mark.parametrize(
    ("requested", "used", "beam_size"),
    [
        ("quality_optimized", "quality_optimized", None),
        ("prefer_quality_optimized", "quality_optimized", None),
        ("latency_optimized", "latency_optimized", 1),
    ],
)
async def test_model_types(
    served: Client, requested: str, used: str, beam_size: int | None
) -> None:
    [answer] = await post(served, text="The old cat.", model_type=requested)
    beam = {} if beam_size is None else {"beam_size": beam_size}
    assert answer["text"] == await native_text(served, "The old cat.", source="en", **beam)
    assert answer["model_type_used"] == used


async def test_a_text_in_its_target_language_is_returned(client: Client) -> None:
    [answer] = await post(client, text="cat", target_lang="EN-GB")
    assert answer == {"detected_source_language": "EN", "text": "cat"}


async def test_several_glossaries_of_which_the_first_counts(served: Client) -> None:
    made = [
        (await served.post("/v2/glossaries", json={"name": "A", "entries": entries} | PAIR)).json()[
            "glossary_id"
        ]
        for entries in ("cat\tvieux chien", "cat\tmaison\ndog\tvieux chat")
    ]
    [answer] = await post(served, text="The cat and the dog.", glossary_ids=made)
    assert "vieux chien" in answer["text"].lower()
    assert "vieux chat" in answer["text"].lower()
    assert "maison" not in answer["text"]


async def test_the_requests_of_weblate(client: Client) -> None:
    """Placeholders are elements that are ignored; languages are listed for each side."""
    sources, targets = [
        {one["language"] for one in (await client.get(f"/v2/languages?type={side}")).json()}
        for side in ("source", "target")
    ]
    assert {"EN", "FR"} == sources
    assert {"EN-GB", "EN-US", "FR"} == targets
    body: dict[str, Any] = {"formality": "default", "tag_handling": "xml", "ignore_tags": ["x"]}
    answers = await post(client, text=['The cat <x id="8"></x> sees.', "dog"], **body)
    assert [answer["text"].count('<x id="8"></x>') for answer in answers] == [1, 0]
