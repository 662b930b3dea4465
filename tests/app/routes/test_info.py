from pathlib import Path

import httpx

from model.checkpoint.reader import load_checkpoint
from tests.app.conftest import Client


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
