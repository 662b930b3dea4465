"""Requests to an application under test, and access to its objects."""

from typing import Any

import httpx

from app.scheduling.scheduler import Scheduler


def content(response: httpx.Response) -> dict[str, Any]:
    """The JSON of a successful response."""
    assert response.status_code == httpx.codes.OK, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def answered(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    """The JSON of a successful POST /translate."""
    return content(await client.post("/translate", json=body))


async def native_text(client: httpx.AsyncClient, text: str, **fields: Any) -> str:
    """Return the translation in the native dialect, into French by default."""
    answer = await answered(client, **{"text": text, "target": "fr"} | fields)
    translated: str = answer["translations"][0]["text"]
    return translated


def refusal(response: httpx.Response, status: int, member: str) -> str:
    """The message of an error in a dialect whose errors have one member."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/json"
    document = response.json()
    assert list(document) == [member]
    message: str = document[member]
    return message


def scheduler(client: httpx.AsyncClient) -> Scheduler:
    """The scheduler of the first model of the client's application."""
    app = client._transport.app  # type: ignore[attr-defined]
    first: Scheduler = app.state.lifecycle.started.shelf.models[0].scheduler
    return first
