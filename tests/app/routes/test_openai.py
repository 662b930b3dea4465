"""OpenAI's dialect over HTTP."""

import json
from typing import Any

import httpx
import pytest

from app.wire.dialects.openai import named_target, without_prompt
from tests.app.asking import content, native_text
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.routes.test_translate_stream import FailingEngine

CHAT = "/v1/chat/completions"
ENGLISH = "My sister bought a new house in the old town."


def chat(system: str | None, *users: Any, **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": user} for user in users]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    return {"model": "attend", "messages": messages} | fields


@pytest.mark.parametrize(
    ("instructions", "target"),
    [
        ("You are a translator. Translate the text into French.", "fr"),
        ("Translate from French to English. Do not answer in German.", "en"),
        ("Translate the following German text to English", "en"),
        ("Traduis le texte en français.", "fr"),
        ("Übersetze ins Deutsche oder nach English", "en"),
        ("Output: Chinese", "zh"),
        ("翻译成中文", "zh"),
        ("translate to the French language", "fr"),
        ("Frenchman of Germany", None),
        ("", None),
    ],
)
def test_the_language_that_instructions_name(instructions: str, target: str | None) -> None:
    assert named_target(instructions, ["en", "fr", "de", "zh"]) == target


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        ("Translate to French (output translation only):\n\n", "fr"),
        ("translate the following English text into French: ", "fr"),
        ("Please translate this to the German language:\n", "de"),
        ("Translate this into français. Return only the translation.\n\n", "fr"),
    ],
)
def test_an_instruction_before_the_text_is_not_translated(prompt: str, target: str) -> None:
    text = "Translate to French: words\n\nand more"
    assert without_prompt(prompt + text, ["en", "fr", "de"]) == (target, text)


@pytest.mark.parametrize(
    "text",
    [
        "Translate to French",
        "Translate to French:\n",
        "Translate to Frenchmen: hello",
        "Translate to Klingon: hello",
        "I translate to French: hello",
        "Translate to French.\nThen sleep: hello",
        "Translate this French text: hello",
        "",
    ],
)
def test_other_texts_have_no_instruction(text: str) -> None:
    assert without_prompt(text, ["en", "fr"]) == (None, text)


async def test_an_instruction_before_the_text_names_the_target(client: Client) -> None:
    expected = await native_text(client, ENGLISH)
    prompted = f"Translate into French:\n\n{ENGLISH}"
    for body in (
        chat(None, prompted),
        chat("You are a native French translator.", prompted),
        chat(None, prompted, model="attend-fr"),
    ):
        answer = content(await client.post(CHAT, json=body))
        assert answer["choices"][0]["message"]["content"] == expected
    other = chat(None, prompted, model="attend-en")
    answer = content(await client.post(CHAT, json=other))
    assert answer["choices"][0]["message"]["content"] == prompted


async def test_the_last_message_of_the_user_is_translated(client: Client) -> None:
    body = chat("Translate English into French.", "the dog", ENGLISH, temperature=0.2, top_p=1)
    answer = content(await client.post(CHAT, json=body))
    assert answer["object"] == "chat.completion"
    [choice] = answer["choices"]
    expected = await native_text(client, ENGLISH)
    assert choice["message"] == {"role": "assistant", "content": expected}
    assert choice["finish_reason"] == "stop"
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


async def test_the_target_by_the_model_or_the_only_partner(client: Client) -> None:
    expected = await native_text(client, ENGLISH)
    for body in (chat(None, ENGLISH), chat("Into German.", ENGLISH, model="attend-fr")):
        answer = content(await client.post(CHAT, json=body))
        assert answer["choices"][0]["message"]["content"] == expected
    parts = [{"type": "text", "text": ENGLISH}]
    answer = content(await client.post(CHAT, json=chat(None, parts)))
    assert answer["choices"][0]["message"]["content"] == expected


async def test_a_stream_has_the_text_in_chunks(client: Client) -> None:
    async with client.stream("POST", CHAT, json=chat(None, ENGLISH, stream=True)) as response:
        lines = [line async for line in response.aiter_lines() if line[:1] not in ("", ":")]
    assert response.headers["Content-Type"].startswith("text/event-stream")
    *chunks, end = [line.removeprefix("data: ") for line in lines]
    assert end == "[DONE]"
    choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
    text = "".join(choice["delta"].get("content", "") for choice in choices)
    assert text == await native_text(client, ENGLISH)
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["stop"]
    assert len({json.loads(chunk)["id"] for chunk in chunks}) == 1
    assert [choice["delta"].pop("role", None) for choice in choices] == ["assistant"] + [None] * (
        len(choices) - 1
    )


async def test_a_stream_without_text_has_an_empty_one(client: Client) -> None:
    response = await client.post(CHAT, json=chat(None, "", model="attend-fr", stream=True))
    first, _, _ = response.text.partition("\n\n")
    choice = json.loads(first.removeprefix("data: "))["choices"][0]
    assert choice["delta"] == {"role": "assistant", "content": ""}


async def test_a_stream_ends_with_its_usage_if_it_is_requested(client: Client) -> None:
    whole = content(await client.post(CHAT, json=chat(None, ENGLISH)))
    body = chat(None, ENGLISH, stream=True, stream_options={"include_usage": True})
    streamed = await client.post(CHAT, json=body)
    *_, stop, usage, end = [
        line.removeprefix("data: ") for line in streamed.text.split("\n\n")[:-1]
    ]
    assert end == "[DONE]"
    assert json.loads(stop)["choices"][0]["finish_reason"] == "stop"
    assert json.loads(usage)["choices"] == []
    assert json.loads(usage)["usage"] == whole["usage"]


async def test_a_failure_within_a_stream_is_an_event(serve: Serve) -> None:
    engine = FailingEngine(n_steps=3)
    async with serve(engine) as client:
        engine.broken = True
        body = chat(None, ENGLISH, model="attend-fr", stream=True)
        response = await client.post(CHAT, json=body)
    last = response.text.strip().splitlines()[-1]
    error = json.loads(last.removeprefix("data: "))["error"]
    assert (error["type"], error["code"]) == ("server_error", "engine-failed")


async def test_models(client: Client) -> None:
    models = content(await client.get("/v1/models"))["data"]
    assert [one["id"] for one in models] == ["attend", "attend-fr", "attend-en"]
    for one in models:
        assert content(await client.get(f"/v1/models/{one['id']}")) == one
    unknown = await client.get("/v1/models/attend-xx")
    assert unknown.status_code == httpx.codes.NOT_FOUND
    assert unknown.json()["error"]["message"].startswith("no such model")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "attend"}, "messages: Field required"),
        (chat("Into French."), "messages: Expected a message with the role user"),
        (chat("x" * 20_001, "cat"), "messages: The system message should have at most"),
        (chat(None, ENGLISH, model="attend-xx"), "model: not supported"),
        (chat(None, 5), "messages/0/content"),
    ],
)
async def test_errors_have_openais_form(client: Client, body: dict[str, Any], message: str) -> None:
    response = await client.post(CHAT, json=body)
    assert response.status_code == httpx.codes.BAD_REQUEST
    error = response.json()["error"]
    assert message in error["message"]
    assert error["type"] == "invalid_request_error"


async def test_the_key_is_a_bearer(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys="mine") as client:
        refused = await client.post(CHAT, json=chat(None, ENGLISH))
        assert refused.status_code == httpx.codes.UNAUTHORIZED
        assert refused.json()["error"]["code"] == "key-needed"
        headers = {"Authorization": "Bearer mine"}
        assert (await client.get("/v1/models", headers=headers)).status_code == 200
