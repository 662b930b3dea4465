"""POST /score with random weights."""

import asyncio
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from app.translation import explainer
from model.engine.explanations import IdPair
from model.text.tokenizer import Tokenizer
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.wire.test_problems import SECRET, problem

PAIR = {"text": "The cat sees the house.", "translation": "Le chat voit la maison.", "target": "fr"}


async def scored(client: httpx.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    response = await client.post("/score", json=body)
    assert response.status_code == httpx.codes.OK, response.text
    scores: list[dict[str, Any]] = response.json()["scores"]
    return scores


async def test_a_pair_has_one_segment_with_the_probability_of_every_token(served: Client) -> None:
    response = await served.post("/score", json=PAIR)
    answer = response.json()
    [pair] = answer["scores"]
    assert (answer["model"], pair["source"], pair["target"]) == ("tiny", "en", "fr")
    [segment] = pair["segments"]
    assert segment.keys() == {"source", "target", "source_tokens", "target_tokens"}
    log_probs = [token["log_prob"] for token in segment["target_tokens"]]
    n = len(log_probs)
    assert max(log_probs) < 0
    assert pair["score"] == pytest.approx(sum(log_probs) / ((5 + n) / 6) ** 0.6)
    assert pair["confidence"] == pytest.approx(math.exp(sum(log_probs) / n))
    covered = "".join(PAIR["translation"][one["start"] : one["end"]]
                      for one in segment["target_tokens"])  # fmt: skip
    assert covered == PAIR["translation"]
    assert (segment["source_tokens"][0]["piece"], segment["target_tokens"][-1]["piece"]) == (
        "<2fr>", "</s>",
    )  # fmt: skip
    assert answer["usage"] == {
        "characters": len(PAIR["text"]) + len(PAIR["translation"]),
        "source_tokens": len(segment["source_tokens"]),
        "target_tokens": n,
    }


async def test_the_length_penalty_is_the_requests(served: Client) -> None:
    [plain], [usual] = [
        await scored(served, **PAIR, **more) for more in ({"length_penalty": 0}, {})
    ]
    log_probs = [token["log_prob"] for token in plain["segments"][0]["target_tokens"]]
    assert plain["score"] == pytest.approx(sum(log_probs))
    assert plain["confidence"] == usual["confidence"]
    assert plain["score"] < usual["score"]


async def test_pairs_of_a_list_are_scored_as_they_are_alone(served: Client) -> None:
    texts, translations = ["cat", "", "The {name} is 🏳️‍🌈"], ["chat", "le", ""]
    together = await scored(served, text=texts, translation=translations, target="fr")
    for text, translation, among in zip(texts, translations, together, strict=True):
        [alone] = await scored(served, text=text, translation=translation, target="fr")
        assert alone == among
    assert len(together[2]["segments"][0]["target_tokens"]) == 1


async def test_attention_and_alignment_are_of_the_pair(served: Client) -> None:
    [pair] = await scored(served, **PAIR, attention={"heads": "all"}, alignment=True)
    [plain] = await scored(served, **PAIR)
    [segment] = pair["segments"]
    attention = segment["attention"]
    shape = [1, 4, len(segment["target_tokens"]), len(segment["source_tokens"])]
    assert attention["shape"] == shape
    np.testing.assert_allclose(np.sum(attention["weights"], axis=-1), 1, atol=1e-3)
    for field, text in (("source_words", PAIR["text"]), ("target_words", PAIR["translation"])):
        words = [text[start:end] for start, end in segment[field]]
        assert words == text.replace(".", " .").split()
    assert sorted(j for _, j in segment["alignment"]) == list(range(6))
    assert {key: segment[key] for key in plain["segments"][0]} == plain["segments"][0]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"translation": [SECRET, SECRET]}, "/translation"),
        ({"translation": 3}, "/translation"),
        ({"translation": []}, "/translation"),
        ({"text": [SECRET] * 5, "translation": [SECRET] * 5}, "/text"),  # four are allowed
        ({"length_penalty": -1}, "/length_penalty"),
        ({"attention": {"layers": [7]}}, "/attention/layers"),
        ({"alignment": 1}, "/alignment"),
        ({"source": "Auto"}, "/source"),
        ({"beam_size": 4}, "/beam_size"),
    ],
)
async def test_a_bad_field_is_named(serve: Serve, fields: dict[str, Any], pointer: str) -> None:
    async with serve(max_texts=4) as client:
        response = await client.post("/score", json=PAIR | fields)
    document = problem(response, 422, "invalid-request")
    assert [error["pointer"] for error in document["errors"]] == [pointer]


async def test_texts_beyond_the_models_length_are_refused(served: Client) -> None:
    long = SECRET + " the cat" * 100
    for side in ("text", "translation"):
        response = await served.post("/score", json=PAIR | {side: long})
        document = problem(response, 422, "text-too-long")
        assert side in document["detail"]
        assert "128" in document["detail"]


@pytest.mark.parametrize("side", ["text", "translation"])
async def test_texts_far_beyond_its_length_are_refused_before_tokenisation(
    served: Client, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    monkeypatch.setattr(Tokenizer, "encode_source", None)
    monkeypatch.setattr(Tokenizer, "encode_target", None)
    body = {"text": "cat", "translation": "chat", "target": "fr"} | {side: "«" * 240_000}
    refused = problem(await served.post("/score", json=body), 422, "text-too-long")
    assert f"a {side} has 240,000 characters" in refused["detail"]


async def test_too_many_weights_are_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainer, "MAX_ATTENTION_WEIGHTS", 10)
    async with serve() as client:
        response = await client.post("/score", json=PAIR | {"attention": True})
        problem(response, 422, "attention-too-large")


async def test_a_pivoted_pair_is_refused(serve: Serve, row_of_checkpoints: tuple[Any, Any]) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        body = {"text": "chat", "translation": "Katze", "source": "fr", "target": "de"}
        problem(await client.post("/score", json=body), 404, "unknown-languages")


async def test_a_pair_that_the_engine_dies_of_is_an_error_of_the_engine(serve: Serve) -> None:
    class Broken(FakeEngine):
        def score(self, *_: object) -> Any:
            raise RuntimeError(SECRET)

    async with serve(Broken()) as client:
        problem(await client.post("/score", json=PAIR), 500, "engine-failed")


def slow_score(seconds: float) -> Callable[[Sequence[IdPair], object], list[NDArray[Any]]]:
    def score(pairs: Sequence[IdPair], options: object) -> list[NDArray[Any]]:
        time.sleep(seconds)
        return [np.zeros(len(target), np.float32) for _, target in pairs]

    return score


async def test_the_characters_of_both_sides_are_counted_if_they_are_scored(serve: Serve) -> None:
    texts = {"text": ["cat", "dog"], "translation": ["chat", "chien"], "target": "fr"}
    async with serve(FakeEngine(), character_limit=30) as client:
        assert (await client.post("/score", json=texts)).status_code == 200
        assert (await client.post("/score", json=texts | {"target": "xx"})).status_code == 404
        usage = (await client.get("/v2/usage")).json()
        assert usage["character_count"] == 15
        assert (await client.post("/score", json=texts)).status_code == 200
        assert (await client.post("/score", json=texts)).status_code == 403


async def test_timeout_and_server_timing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    async with serve(FakeEngine()) as client:
        answer = await client.post("/score", json=PAIR)
        assert re.match(r"queue;dur=[\d.]+, tokenize;dur=", answer.headers["Server-Timing"])
    monkeypatch.setattr(engine, "score", slow_score(0.5))
    async with serve(engine) as client:
        late = await client.post("/score", json=PAIR, headers={"X-Request-Timeout": "0.1"})
        assert late.status_code == 504


async def test_clients_do_not_delay_others(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    many = {
        "text": ["cat dog " * 4] * 200,
        "translation": ["chat chien " * 4] * 200,
        "target": "fr",
    }
    engine = FakeEngine()
    monkeypatch.setattr(engine, "score", slow_score(0.1))
    async with serve(engine, api_keys="one,two") as client:

        async def ask(path: str, body: object, key: str) -> None:
            headers = {"Authorization": f"Bearer {key}"}
            answer = await client.post(path, json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            order.append(path + key)

        waiting = asyncio.create_task(ask("/score", many, "one"))
        await asyncio.sleep(0.05)
        await asyncio.gather(
            ask("/score", PAIR, "two"), ask("/translate", {"text": "cat", "target": "fr"}, "two")
        )
        await waiting
    assert order[-1] == "/scoreone"
    assert sorted(order[:2]) == ["/scoretwo", "/translatetwo"]
