"""POST /explain with random weights."""

import base64
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.hub.import_cache import checkpoint_folder
from model.checkpoint.reader import load_checkpoint
from model.transformer.config import PRESETS
from model.transformer.positions import sinusoidal_positions
from tests.app.asking import answered, content
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.wire.test_problems import SECRET, problem
from tests.cases import cases

TEXT = "The cat sees the house."
OPTIONS: list[dict[str, Any]] = cases(__file__, "options")


async def explained(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    return content(await client.post("/explain", json={"text": TEXT, "target": "fr"} | body))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
async def test_it_ends_in_the_answer_of_translate(served: Client, options: dict[str, Any]) -> None:
    answer = await explained(served, **options)
    translated = await answered(
        served, **{"text": TEXT, "target": "fr", "attention": True} | options
    )
    [translation] = translated["translations"]
    for field in ("text", "score", "confidence", "source", "target"):
        assert answer[field] == translation[field]
    [segment] = translation["segments"]
    for field in ("source", "target", "source_tokens", "target_tokens"):
        assert answer["segment"][field] == segment[field]
    assert answer["usage"] == translated["usage"]


@pytest.mark.parametrize("text", ["{name} sees the house.", "The <x1/> cat and {0} dogs"])
async def test_placeholders_are_searched_as_translate_does(served: Client, text: str) -> None:
    response = await served.post("/explain", json={"text": text, "target": "fr"})
    translated = await answered(served, text=text, target="fr")
    if response.status_code == httpx.codes.OK:
        assert response.json()["text"] == translated["translations"][0]["text"]
    else:  # lost, so that the text is translated in parts
        assert "parts" in problem(response, 422, "invalid-request")["errors"][0]["detail"]


async def test_every_beam_extends_one_before_it(served: Client) -> None:
    answer = await explained(served, beam_size=4)
    search = answer["search"]
    assert (search["rule"], search["beam_size"], search["length_penalty"]) == ("attend", 4, 0.6)
    assert len(search["steps"][0]["beams"]) == 1
    for before, step in zip(search["steps"], search["steps"][1:], strict=False):
        for beam in step["beams"]:
            parent = before["beams"][beam["parent"]]
            assert beam["log_prob"] < parent["log_prob"]
            likely = {one["piece"]: one["log_prob"] for one in parent["likeliest"]}
            if beam["piece"] in likely:
                gained = beam["log_prob"] - parent["log_prob"]
                assert gained == pytest.approx(likely[beam["piece"]], abs=1e-4)
    for step in search["steps"]:
        for beam in step["beams"]:
            assert len(beam["likeliest"]) == 5
            for one in beam["likeliest"]:
                assert one["probability"] == pytest.approx(math.exp(one["log_prob"]), abs=1e-5)
    ended = [one for step in search["steps"] for one in step["ended"]]
    assert any(one["text"] == answer["text"] and one["score"] == answer["score"] for one in ended)


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
async def test_the_numbers_are_those_of_the_attention_weights(served: Client, kind: str) -> None:
    requested = {"kind": kind, "layers": "all", "heads": "all"}
    translated = await answered(served, text=TEXT, target="fr", attention=requested)
    weights = np.array(translated["translations"][0]["segments"][0]["attention"]["weights"])
    n_layers, n_heads, n_rows, _ = weights.shape
    for layer, head, row in ((0, 0, 0), (n_layers - 1, n_heads - 1, n_rows - 1)):
        examined = {"kind": kind, "layer": layer, "head": head, "token": row}
        attention = (await explained(served, attention=examined))["attention"]
        found = [column["weight"] for column in attention["columns"]]
        np.testing.assert_allclose(found, weights[layer, head, row], atol=5.1e-5)
        keys = np.array([column["key"] for column in attention["columns"]])
        values = np.array([column["value"] for column in attention["columns"]])
        products = keys @ np.array(attention["query"])
        dot_products = [column["product"] for column in attention["columns"]]
        np.testing.assert_allclose(dot_products, products, rtol=1e-3, atol=1e-4)
        scaled = np.array([column["scaled"] for column in attention["columns"]])
        np.testing.assert_allclose(scaled, np.array(dot_products) / math.sqrt(attention["d_k"]))
        seen = np.array([column["seen"] for column in attention["columns"]])
        assert seen.sum() == (row + 1 if kind == "decoder" else len(seen))
        exponentials = np.where(seen, np.exp(scaled - scaled.max()), 0)
        np.testing.assert_allclose(found, exponentials / exponentials.sum(), atol=1e-5)
        np.testing.assert_allclose(attention["output"], np.array(found) @ values, atol=1e-4)


async def test_the_last_layer_is_the_default(served: Client) -> None:
    first = await explained(served, attention={"token": 1})
    last = await explained(served, attention={"token": 1, "layer": first["attention"]["layer"]})
    assert first["attention"] == last["attention"]
    assert first["attention"]["layer"] == PRESETS["tiny"].n_decoder_layers - 1


async def test_the_positional_encoding_is_the_models(served: Client) -> None:
    positions = (await explained(served, positions=7))["positions"]
    without = await explained(served)
    assert without["positions"] is None
    config = PRESETS["tiny"]
    assert positions["shape"] == [7, config.d_model]
    table = np.frombuffer(base64.b64decode(positions["weights"]), "<f2").reshape(7, -1)
    expected = sinusoidal_positions(7, config.d_model, config.position_layout)
    np.testing.assert_allclose(table, expected, atol=1e-3)


@pytest.mark.parametrize(("body", "pointer", "detail"), cases(__file__, "bad_fields"), ids=str)
async def test_bad_fields(served: Client, body: dict[str, Any], pointer: str, detail: str) -> None:
    response = await served.post("/explain", json={"text": TEXT, "target": "fr"} | body)
    [fault] = problem(response, 422, "invalid-request")["errors"]
    assert fault["pointer"].removeprefix("#") == pointer
    assert detail in fault["detail"]


async def test_a_long_sentence_is_refused(served: Client) -> None:
    body = {"text": "cat " * 200, "target": "fr", "split_sentences": False}
    response = await served.post("/explain", json=body)
    # Longer than the model's limit, or than the limit for explanations.
    assert response.status_code == 422
    assert problem(response, 422, response.json()["type"].rpartition(":")[2])


async def test_a_text_that_cannot_be_a_sentence_is_refused_before_it_is_read(
    served: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.explanation.search_view.SegmentedText", None)
    body = {"text": "The cat. " * 20_000, "target": "fr"}
    refused = problem(await served.post("/explain", json=body), 422, "text-too-long")
    assert "180,000 characters" in refused["detail"]
    assert "128 tokens" in refused["detail"]


async def test_it_needs_a_single_search(
    serve: Serve, row_of_checkpoints: tuple[Path, Path]
) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        for text, source, target, message in (
            ("Le chat", "fr", "de", "fr to en and en to de"),
            ("Le chien voit la maison verte.", "auto", "fr", "already"),
        ):
            body = {"text": text, "source": source, "target": target}
            response = await client.post("/explain", json=body)
            [fault] = problem(response, 422, "invalid-request")["errors"]
            assert message in fault["detail"]


async def test_the_error_of_a_failed_engine_omits_the_text(serve: Serve) -> None:
    class Failing(FakeEngine):
        def trace(self, *_: Any) -> Any:
            raise RuntimeError(SECRET)

    async with serve(Failing()) as client:
        response = await client.post("/explain", json={"text": SECRET, "target": "fr"})
        again = await answered(client, text="The cat", target="fr")
    problem(response, 500, "engine-failed")
    assert again["translations"][0]["text"]


async def test_it_counts_as_a_translation(serve: Serve) -> None:
    async with serve(api_keys="mine", character_limit=40) as client:
        body = {"text": TEXT, "target": "fr"}
        assert (await client.post("/explain", json=body)).status_code == 401
        client.headers["Authorization"] = "Bearer mine"
        assert (await client.post("/explain", json=body)).status_code == 200
        response = await client.post("/explain", json=body)
    problem(response, 403, "quota-exceeded")


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_imported_rules(
    serve: Serve, make_folder: Callable[..., Path], tmp_path: Path, beam_size: int
) -> None:
    folder = checkpoint_folder(make_folder(), tmp_path)
    [(source, target), *_] = load_checkpoint(folder).config.directions
    body = {"text": "the cat", "source": source, "target": target, "beam_size": beam_size}
    async with serve(checkpoint=folder) as client:
        answer = await explained(client, **body, attention={})
        translated = await answered(client, **body)
    assert answer["search"]["rule"] == "transformers"
    [translation] = translated["translations"]
    assert (answer["text"], answer["score"]) == (translation["text"], translation["score"])
    ended = [one for step in answer["search"]["steps"] for one in step["ended"]]
    assert any(one["score"] == answer["score"] for one in ended)
    assert sum(one["weight"] for one in answer["attention"]["columns"]) == pytest.approx(1)


async def test_a_position_is_followed_through_its_layer(served: Client) -> None:
    layer = {"stack": "decoder", "layer": 0, "token": 1}
    attention = {"kind": "cross", "layer": 0, "head": 0, "token": 1}
    answer = await explained(served, activations=layer, attention=attention)
    activations = answer["activations"]
    tokens = answer["segment"]["target_tokens"]
    assert {name: activations[name] for name in layer} == layer
    assert activations["piece"] == tokens[0]["piece"]
    vectors = {(one["sublayer"], one["name"]): one["vector"] for one in activations["vectors"]}
    token, position, total = (
        np.array(vectors["embedding", name]) for name in ("token", "position", "sum")
    )
    assert total == pytest.approx(token * activations["embedding_scale"] + position, abs=1e-4)
    query, context = (vectors["cross_attention", name] for name in ("query", "context"))
    d_k = answer["attention"]["d_k"]
    assert query[:d_k] == answer["attention"]["query"]
    assert context[:d_k] == pytest.approx(answer["attention"]["output"], abs=1e-4)
    likely = {one["piece"]: one["probability"] for one in activations["logits"]}
    assert list(likely.values()) == sorted(likely.values(), reverse=True)
    for one in activations["logits"]:
        assert math.log(one["probability"]) == pytest.approx(
            one["logit"] - activations["log_sum_exp"], abs=1e-6
        )
    chosen = tokens[1]
    if chosen["piece"] in likely:
        assert math.log(likely[chosen["piece"]]) == pytest.approx(chosen["log_prob"], abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"layer": 99}, "/activations/layer"),
        ({"token": 99}, "/activations/token"),
        ({"stack": "middle"}, "/activations/stack"),
        ({"head": 0}, "/activations/head"),
    ],
    ids=str,
)
async def test_a_position_out_of_range_is_refused(
    served: Client, changes: dict[str, Any], pointer: str
) -> None:
    body = {"text": TEXT, "target": "fr", "activations": {"stack": "encoder"} | changes}
    errors = problem(await served.post("/explain", json=body), 422, "invalid-request")["errors"]
    assert [one["pointer"] for one in errors] == [pointer]
