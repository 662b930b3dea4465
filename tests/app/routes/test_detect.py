"""POST /detect."""

from typing import Any

import httpx
import pytest

from tests.app.conftest import Client, Serve


async def detected(client: httpx.AsyncClient, text: Any) -> Any:
    response = await client.post("/detect", json={"text": text})
    assert response.status_code == httpx.codes.OK, response.text
    return response.json()


async def test_candidates_of_every_text_in_order(served: Client) -> None:
    first, second, nothing, german = await detected(
        served, ["La maison est verte.", "The house", "12 %", "Das Haus ist grün und alt."]
    )
    assert first[0]["language"] == "fr"
    assert [one["language"] for one in second] == ["en", "fr"]
    assert second[0]["confidence"] > second[1]["confidence"]
    assert nothing == []
    assert german[0]["language"] == "de"


async def test_one_text_is_a_list_of_one(served: Client) -> None:
    assert await detected(served, "The house") == await detected(served, ["The house"])


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ({}, 422, "invalid-request"),
        ({"text": []}, 422, "invalid-request"),
        ({"text": ["a"] * 3}, 422, "invalid-request"),
        ({"text": "a", "target": "fr"}, 422, "invalid-request"),
        ({"text": "a" * 51}, 422, "text-too-long"),
        ({"text": "a" * 500}, 413, "body-too-large"),
    ],
)
async def test_what_is_refused(serve: Serve, body: Any, status: int, slug: str) -> None:
    async with serve(max_texts=2, max_text_characters=50, max_body_bytes=400) as client:
        response = await client.post("/detect", json=body)
    assert response.status_code == status
    assert response.json()["type"] == f"urn:problem-type:attend:{slug}"
