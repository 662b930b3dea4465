import asyncio
from pathlib import Path

import httpx
import pytest

from app.observe.metrics import Metrics
from model.checkpoint.reader import load_checkpoint
from tests.app.conftest import Client

MADE_ONCE = ("/openapi.json", "/spec", "/languages")


async def test_info_describes_the_served_checkpoint(served: Client, tiny_checkpoint: Path) -> None:
    info = (await served.get("/info")).json()
    checkpoint = load_checkpoint(tiny_checkpoint)
    assert info["model"] == "tiny"
    assert info["directions"] == [["en", "fr"], ["fr", "en"]]
    assert info["config"] == checkpoint.config.transformer.model_dump()
    assert info["parameters"] == checkpoint.n_parameters
    assert info["digest"] == checkpoint.digest
    assert (info["device"], info["precision"]) == ("cpu", "int8")


async def test_openapi_names_only_what_it_defines_and_its_examples_work(served: Client) -> None:
    def references(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*map(references, node.values()))
        return set().union(*map(references, node)) if isinstance(node, list) else set()

    document = (await served.get("/openapi.json")).json()
    body = document["paths"]["/translate"]["post"]["requestBody"]["content"]
    examples = body["application/json"]["examples"]
    for example in examples.values():
        response = await served.post("/translate", json=example["value"])
        assert response.status_code == httpx.codes.OK
    schemas = document["components"]["schemas"]
    assert references(document) <= {f"#/components/schemas/{name}" for name in schemas}
    assert {"TranslateRequest", "AttentionRequest", "TranslateAnswer", "Problem"} <= set(schemas)
    assert "HTTPValidationError" not in schemas


async def test_what_needs_no_key_is_made_once(
    served: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [(await served.get(path)).content for path in MADE_ONCE]
    for maker in ("app.routes.page._described", "app.wire.dialects.libretranslate.SPEC"):
        monkeypatch.setattr(maker, None)
    monkeypatch.setattr("app.routes.models._LANGUAGES", None)
    assert [(await served.get(path)).content for path in MADE_ONCE] == before
    tag = (await served.get("/openapi.json")).headers["etag"]
    unchanged = await served.get("/openapi.json", headers={"If-None-Match": tag})
    assert unchanged.status_code == httpx.codes.NOT_MODIFIED


async def test_metrics_are_collected_once_for_all_who_ask_at_a_time(
    served: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_times = 0
    exposition = Metrics.exposition

    def count(self: Metrics, accept: str = "") -> tuple[bytes, str]:
        nonlocal n_times
        n_times += 1
        return exposition(self, accept)

    monkeypatch.setattr(Metrics, "exposition", count)
    answers = await asyncio.gather(*(served.get("/metrics") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {httpx.codes.OK}
    assert n_times <= 10
