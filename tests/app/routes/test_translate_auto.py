"""POST /translate with `"source": "auto"`."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.asking import answered
from tests.app.conftest import Client, Serve

EN, FR, DE = "The house is green.", "La maison est verte.", "Das Haus ist grün und sehr alt."


async def test_texts_of_one_list_go_in_different_directions(served: Client) -> None:
    texts = [EN, FR, "12 %", EN, FR]
    answer = await answered(served, text=texts, source="auto")
    for text, translation in zip(texts, answer["translations"], strict=True):
        source = translation["source"]
        target = translation["target"]
        alone = await answered(served, text=text, source=source, target=target)
        detected = translation.pop("detected", None)
        assert [translation] == alone["translations"]
        if text == "12 %":
            assert detected is None
        else:
            assert detected["language"] == source
            assert 0.5 < detected["confidence"] <= 1
    pairs = [(one["source"], one["target"]) for one in answer["translations"]]
    assert pairs == [("en", "fr"), ("fr", "en"), ("en", "fr"), ("en", "fr"), ("fr", "en")]
    assert answer["usage"]["characters"] == sum(map(len, texts))


async def test_a_text_in_its_target_language_is_returned_unchanged(served: Client) -> None:
    answer = await answered(
        served, text=[FR, EN], source="auto", target="fr-CA", alternatives=1, alignment=True
    )
    same, other = answer["translations"]
    assert same.pop("detected")["language"] == "fr"
    assert same == {
        "text": FR, "source": "fr", "target": "fr", "score": 0, "confidence": 1, "flags": [],
        "alternatives": [], "segments": [],
    }  # fmt: skip
    assert other["source"] == "en"
    assert len(other["alternatives"]) == 1
    assert answer["model"] == "tiny"


async def test_if_all_are_in_the_target_language_nothing_is_answered(served: Client) -> None:
    answer = await answered(served, text=FR, source="auto", target="fr")
    assert answer["model"] == "tiny"
    assert answer["usage"] == {"characters": len(FR), "source_tokens": 0, "target_tokens": 0}


async def test_the_language_of_markup_is_that_of_its_text(served: Client) -> None:
    markup = f"<div lang='en'><style>the house is green</style><!-- the house --><p>{FR}</p></div>"
    answer = await answered(served, text=markup, source="auto", format="html")
    assert answer["translations"][0]["source"] == "fr"


async def test_several_models(serve: Serve, row_of_checkpoints: tuple[Path, Path]) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        answer = await answered(client, text=[EN, FR, DE], source="auto", target="de")
        first, second, third = answer["translations"]
        alone = await answered(client, text=EN, source="en", target="de")
    assert answer["model"] == "en-de, fr-en+en-de"
    assert first["text"] == alone["translations"][0]["text"]
    assert (second["source"], second["pivot"], second["target"]) == ("fr", "en", "de")
    assert third["text"] == DE


@pytest.mark.parametrize("text", [DE, [EN, DE], "Привет, как дела?"])
async def test_a_language_that_is_not_served_is_named(served: Client, text: Any) -> None:
    response = await served.post(
        "/translate", json={"text": text, "source": "auto", "target": "fr"}
    )
    assert response.status_code == httpx.codes.NOT_FOUND
    problem = response.json()
    assert problem["type"] == "urn:problem-type:attend:unknown-languages"
    assert ("Russian (ru)" if isinstance(text, str) and text != DE else "German (de)") in (
        problem["detail"]
    )
    assert f"({problem['source']})" in problem["detail"]
    assert "this server translates en to fr" in problem["detail"]


async def test_without_a_source_a_text_is_not_silently_english(served: Client) -> None:
    answer = await answered(served, text=["cat", FR + " " + FR], target="fr")
    usual, same = answer["translations"]
    assert (usual["source"], usual.get("detected")) == ("en", None)
    assert (same["source"], same["text"]) == ("fr", FR + " " + FR)
    assert same["detected"]["language"] == "fr"
    [other] = (await answered(served, text=DE, target="fr"))["translations"]
    assert (other["source"], other["detected"]["language"]) == ("en", "de")
    assert "other_language" in other["flags"]
    assert all("other_language" not in one["flags"] for one in (usual, same))
