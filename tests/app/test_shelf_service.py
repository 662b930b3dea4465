"""A server with a folder of models, which every route loads on demand."""

import asyncio
import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from app.errors import AppError, ReloadFailedError, SettingsError
from app.loading import choose_models, load_runtime
from app.observe.metrics import Metrics
from app.runtime import Lifecycle, Runtime
from app.settings import Settings
from app.shelf.slot import ModelSlot
from app.translation.served_model import Facts, KnownModel
from model.checkpoint.config import AnyPair, CheckpointConfig
from model.engine.protocol import EngineInfo
from model.errors import ModelError
from model.transformer.config import PRESETS
from tests.app.asking import answered, content
from tests.app.conftest import Serve
from tests.app.waiting import until

MakeShelf = Callable[..., Path]


def lifecycle_of(client: httpx.AsyncClient) -> Lifecycle:
    lifecycle: Lifecycle = client._transport.app.state.lifecycle  # type: ignore[attr-defined]
    return lifecycle


def runtime_of(client: httpx.AsyncClient) -> Runtime:
    return lifecycle_of(client).started


@pytest.fixture
def shelf(row_of_checkpoints: tuple[Path, Path], tmp_path: Path) -> Path:
    """`fr-en`, both ways, and `en-de`; a folder that is not a model, and a hidden one."""
    folder = tmp_path / "models"
    for checkpoint in row_of_checkpoints:
        shutil.copytree(checkpoint, folder / checkpoint.name)
    (folder / "notes.txt").write_text("not a folder", "utf-8")
    (folder / "broken").mkdir()
    shutil.copytree(row_of_checkpoints[1], folder / ".en-es.unfinished")
    return folder


def change(folder: Path, **values: Any) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | values), "utf-8")


def states(client: httpx.AsyncClient) -> dict[str, str]:
    info = runtime_of(client).info
    return {one.model: one.state for one in (info, *info.others)}


async def test_models_are_known_at_once_and_loaded_on_demand(
    serve: Serve, shelf: Path, row_of_checkpoints: tuple[Path, Path]
) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        body = {"text": "le chat voit la maison", "source": "fr"}
        direct = await answered(client, **body, target="en")
        pivoted = await answered(client, **body, target="de")
    async with serve(checkpoint=(), models=shelf) as client:
        languages = content_list(await client.get("/languages"))
        info = content(await client.get("/info"))
        assert states(client) == {"en-de": "known", "fr-en": "known"}
        assert (info["digest"], info["memory_bytes"], info["engine"]) == (None, 0, "cpu")
        assert await answered(client, **body, target="en") == direct
        assert states(client) == {"en-de": "known", "fr-en": "loaded"}
        assert await answered(client, **body, target="de") == pivoted
        assert states(client) == {"en-de": "loaded", "fr-en": "loaded"}
        loaded = content(await client.get("/info"))
        metrics = (await client.get("/metrics")).text
    assert {one["code"]: one["targets"] for one in languages} == {
        "en": ["de", "fr"], "fr": ["en", "de"],
    }  # fmt: skip
    assert len(loaded["digest"]) == 64
    assert loaded["memory_bytes"] > 0
    assert 'attend_model_requests_total{model="fr-en"} 2.0' in metrics
    [held] = re.findall(r'attend_model_memory_bytes{model="en-de"} (\S+)', metrics)
    assert float(held) == loaded["memory_bytes"]
    assert 'attend_model_loads_total{model="en-de",outcome="done"} 1.0' in metrics


def content_list(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.status_code == httpx.codes.OK
    listed: list[dict[str, Any]] = response.json()
    return listed


async def test_every_route_loads_what_it_needs(serve: Serve, shelf: Path) -> None:
    pair = {"source": "en", "target": "de"}
    async with serve(checkpoint=(), models=shelf, model_memory=1) as client:
        runtime = runtime_of(client)
        runtime.shelf.max_bytes = 1e12

        async def unload() -> None:
            for slot in runtime.shelf.slots:
                if slot.model:
                    await runtime.shelf._unload(slot)

        for path, body in (
            ("/translate", {"text": "the cat", **pair, "alignment": True, "attention": True}),
            ("/translate", {"text": "<p>the <b>cat</b></p>", **pair, "format": "html"}),
            ("/translate", {"text": "the cat", **pair, "stream": True}),
            ("/translate", {"q": "the cat", **pair}),
            ("/score", {"text": "the cat", "translation": "der", **pair}),
            ("/explain", {"text": "the cat", **pair}),
            ("/v2/translate", {"text": ["the cat"], "target_lang": "DE", "source_lang": "EN"}),
        ):
            answer = await client.post(path, json=body)
            assert answer.status_code == httpx.codes.OK, (path, answer.text)
            assert "error" not in answer.text
            await unload()
        upload = {"file": ("a.txt", b"the cat sees the dog")}
        answer = await client.post("/translate_file", files=upload, data=pair)
        assert answer.status_code == httpx.codes.OK, answer.text
        await unload()
        detected = await answered(client, text="The house is green and nice today.", source="auto",
                                  target="de")  # fmt: skip
        assert detected["translations"][0]["detected"]["language"] == "en"
        assert set(states(client).values()) == {"known", "loaded"}


async def test_impossible_requests_are_refused_without_loading(serve: Serve, shelf: Path) -> None:
    body = {"text": "chat", "source": "fr", "target": "en", "beam_size": 1, "alternatives": 3}
    async with serve(checkpoint=(), models=shelf) as client:
        assert (await client.post("/translate", json=body)).status_code == 422
        assert set(states(client).values()) == {"known"}


async def test_the_least_recently_used_model_is_unloaded(serve: Serve, shelf: Path) -> None:
    async with serve(checkpoint=(), models=shelf) as client:
        whole = await answered(client, text="chat", source="fr", target="de")
        shelf_of = runtime_of(client).shelf
        shelf_of.max_bytes = 1.3 * max(slot.expected for slot in shelf_of.slots)
        for _ in range(2):  # with memory for one model at a time
            assert await answered(client, text="chat", source="fr", target="de") == whole
            await until(lambda: list(states(client).values()).count("loaded") <= 1)
        metrics = (await client.get("/metrics")).text
    [n_evictions] = re.findall(r'attend_model_evictions_total{model="fr-en"} (\S+)', metrics)
    assert float(n_evictions) >= 2


async def test_a_model_that_does_not_load_is_reported_and_others_go_on(
    serve: Serve, shelf: Path
) -> None:
    weights = shelf / "en-de" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-10])
    body = {"text": "cat", "source": "en", "target": "de"}
    async with serve(checkpoint=(), models=shelf) as client:
        failed = await client.post("/translate", json=body)
        assert failed.json()["type"] == "urn:problem-type:attend:model-unavailable"
        assert (failed.status_code, failed.headers["Retry-After"]) == (503, "10")
        assert "'en-de' could not be loaded" in failed.json()["detail"]
        assert str(shelf) not in failed.text
        assert states(client) == {"en-de": "failed", "fr-en": "known"}
        await answered(client, text="chat", source="fr", target="en")
        for path in ("/livez", "/readyz", "/startupz"):
            assert (await client.get(path)).status_code == 200
        deepl = {"text": ["cat"], "source_lang": "EN", "target_lang": "DE"}
        assert "could not be loaded" in (await client.post("/v2/translate", json=deepl)).text
        weights.write_bytes(whole)
        [slot] = [one for one in runtime_of(client).shelf.slots if one.name == "en-de"]
        assert slot.failure
        slot.failure = None  # retry now
        await answered(client, **body)


def damages() -> dict[str, Callable[[Path], object]]:
    """Damage to a copy of a model that leaves its configuration intact."""
    weights, pieces = "model.safetensors", "sentencepiece.model"
    return {
        "half-written": lambda folder: (folder / weights).unlink(),
        "cut": lambda folder: (folder / weights).write_bytes(
            (folder / weights).read_bytes()[:-10]
        ),
        "no vocabulary": lambda folder: (folder / pieces).write_bytes(b""),
        "a folder as weights": lambda folder: [
            (folder / weights).unlink(), (folder / weights).mkdir()
        ],
        "linked to itself": lambda folder: [
            (folder / pieces).unlink(), (folder / pieces).symlink_to(pieces)
        ],
        "wrong golden sentences": lambda folder: (folder / "golden.json").write_text("[1"),
        "another shape": lambda folder: change(
            folder, transformer=PRESETS["tiny"].model_dump(mode="json")
        ),
    }  # fmt: skip


def cut_configuration(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"{")


@pytest.mark.parametrize("damage", damages())
async def test_a_damaged_copy_of_a_model_disables_nothing(
    serve: Serve, shelf: Path, damage: str
) -> None:
    copy = shelf / "a-copy-of-en-de"  # its name has precedence
    shutil.copytree(shelf / "en-de", copy)
    damages()[damage](copy)
    body = {"text": "cat", "source": "en", "target": "de"}
    async with serve(checkpoint=(), models=shelf) as client:
        for _ in range(2):
            assert (await answered(client, **body))["model"] == "en-de"
        pivoted = await answered(client, **(body | {"source": "fr"}))
        assert pivoted["model"] == "fr-en+en-de"
        scored = await client.post("/score", json=body | {"translation": "Katze"})
        assert scored.json()["model"] == "en-de", scored.text
        assert states(client)["a-copy-of-en-de"] == "failed"
        assert (await client.get("/readyz")).status_code == 200


@pytest.mark.parametrize("damage", [*damages(), "no configuration"])
async def test_a_damaged_pinned_model_stops_the_start_with_one_line(
    shelf: Path, damage: str
) -> None:
    damages().get(damage, cut_configuration)(shelf / "en-de")
    settings = Settings.parse(models=shelf, pin="en-de", device="cpu")
    lifecycle = Lifecycle(partial(load_runtime, settings, Metrics()), Metrics())
    with pytest.raises((AppError, ModelError), match="en-de") as caught:
        await lifecycle.start()
    assert "\n" not in str(caught.value)


async def test_names_are_those_of_the_folders(serve: Serve, shelf: Path) -> None:
    shutil.copytree(shelf / "en-de", shelf / "deutsch")  # whose config.json says en-de
    async with serve(checkpoint=(), models=shelf, pin=("deutsch",)) as client:
        assert states(client) == {"deutsch": "loaded", "en-de": "known", "fr-en": "known"}
        body = {"text": "cat", "source": "en", "target": "de"}
        assert (await answered(client, **body))["model"] == "deutsch"
        metrics = (await client.get("/metrics")).text
    assert 'attend_model_requests_total{model="deutsch"} 1.0' in metrics


async def test_an_idle_model_is_unloaded(serve: Serve, shelf: Path) -> None:
    async with serve(checkpoint=(), models=shelf, model_idle_seconds=0.2) as client:
        await answered(client, text="cat", source="en", target="de")
        assert states(client)["en-de"] == "loaded"
        await until(lambda: states(client)["en-de"] == "known")
        await answered(client, text="cat", source="en", target="de")


async def test_golden_sentences_are_checked_when_a_model_is_loaded(
    serve: Serve, shelf: Path
) -> None:
    wrong = [{"source": "en", "target": "de", "text": "cat", "translation": "Katze"}]
    (shelf / "en-de" / "golden.json").write_text(json.dumps(wrong), "utf-8")
    async with serve(checkpoint=(), models=shelf) as client:
        refused = await client.post("/translate", json={"text": "cat", "target": "de"})
        assert refused.status_code == 503
        [slot] = [one for one in runtime_of(client).shelf.slots if one.name == "en-de"]
        assert slot.failure
        assert "differs from golden.json" in slot.failure.reason


async def test_a_reload_finds_new_folders_and_keeps_loaded_models(
    serve: Serve, shelf: Path
) -> None:
    async with serve(checkpoint=(), models=shelf, pin=("fr-en",)) as client:
        await answered(client, text="cat", source="en", target="de")
        before = {one.name: one.model for one in runtime_of(client).shelf.slots}
        assert states(client) == {"en-de": "loaded", "fr-en": "loaded"}
        shutil.copytree(shelf / "en-de", shelf / "en-es")
        change(shelf / "en-es", name="en-es", directions=[["es", "de"]])
        info = (await lifecycle_of(client).reload()).info
        assert [one.model for one in (info, *info.others)] == ["en-de", "en-es", "fr-en"]
        after = {one.name: one.model for one in runtime_of(client).shelf.slots}
        assert after == before | {"en-es": None}
        await answered(client, text="gato", source="es", target="de")
        shutil.rmtree(shelf / "en-es")
        (shelf / "en-de").rename(shelf / "renamed")
        await lifecycle_of(client).reload()
        assert states(client) == {"renamed": "known", "fr-en": "loaded"}
        assert {one.name: one.model for one in runtime_of(client).shelf.slots} == {
            "renamed": None, "fr-en": before["fr-en"],
        }  # fmt: skip
        await answered(client, text="cat", source="en", target="de")
        shutil.rmtree(shelf / "fr-en")
        with pytest.raises(ReloadFailedError, match="no model 'fr-en'"):
            await lifecycle_of(client).reload()
        await answered(client, text="chat", source="fr", target="en")  # as before


async def test_a_request_holds_its_model_over_a_reload(serve: Serve, shelf: Path) -> None:
    async with serve(checkpoint=(), models=shelf, sentence_cache_bytes=0) as client:
        await answered(client, text="cat", source="en", target="de")
        old = runtime_of(client)
        texts = ["the cat sees the old dog"] * 100
        request = asyncio.create_task(
            client.post("/translate", json={"text": texts, "source": "en", "target": "de"})
        )
        while not any(slot.n_leases for slot in old.shelf.slots):
            await asyncio.sleep(0.001)
        await lifecycle_of(client).reload()
        assert len(content(await request)["translations"]) == 100


async def test_languages_limit_what_is_served(
    serve: Serve, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LT_LOAD_ONLY", "en,fr")
    async with serve(checkpoint=(), models=shelf) as client:
        listed = content_list(await client.get("/languages"))
        assert [(one["code"], one["targets"]) for one in listed] == [("fr", ["en"]), ("en", ["fr"])]
        assert states(client) == {"fr-en": "known"}
    with pytest.raises(SettingsError, match="'languages': no model translates between two of en"):
        load_runtime(Settings.parse(models=shelf, languages="en"), Metrics())


async def test_a_script_that_no_model_writes_is_refused_in_every_dialect(
    serve: Serve, shelf: Path
) -> None:
    change(shelf / "en-de", directions=[["en", "sr"]])
    async with serve(checkpoint=(), models=shelf) as client:
        for path, body in (
            ("/translate", {"text": "cat", "source": "en", "target": "sr-Latn"}),
            ("/translate", {"q": "cat", "source": "fr", "target": "sr_latn"}),
            ("/v2/translate", {"text": ["cat"], "target_lang": "SR-LATN"}),
            ("/score", {"text": "cat", "translation": "mačka", "source": "en", "target": "sh"}),
        ):
            refused = await client.post(path, json=body)
            assert 400 <= refused.status_code < 500, refused.text
            if "q" not in body:  # LibreTranslate's message is fixed
                assert "this server writes Serbian (Cyrillic) (sr)" in refused.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pin": "fr-es"}, "'pin': no model 'fr-es' in .*; there are: en-de, fr-en"),
        ({"models": "nowhere"}, "nowhere: No such file or directory; expected a folder of models"),
    ],
)
def test_missing_models_are_reported_at_the_start(
    shelf: Path, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        load_runtime(Settings.parse(**{"models": shelf} | settings), Metrics())


def test_the_error_of_an_empty_shelf_describes_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"can be served; `attend pull opus-mt-en-de DIR`"):
        load_runtime(Settings.parse(models=tmp_path), Metrics())


def known(name: str, *directions: tuple[str, str], shelved: bool = True) -> KnownModel:
    config = CheckpointConfig(name=name, directions=list(directions), transformer=PRESETS["tiny"])
    facts = Facts(0, EngineInfo("cpu", "cpu", "int8", 1))
    slot: ModelSlot[Any] = ModelSlot(name, lambda: None)
    return KnownModel(config, slot, facts, name if shelved else None)


def test_the_most_specific_model_of_a_direction_is_used() -> None:
    many = known("many", ("en", "de"), ("en", "fr"), ("en", "zh-Hant"))
    few, fewer = known("few", ("en", "DE"), ("en", "fr")), known("fewer", ("en", "fr"))
    given = known("given", ("en", "fr"), ("en", "es"), ("en", "it"), shelved=False)

    def names(*models: KnownModel, only: tuple[str, ...] = ()) -> dict[tuple[str, str], str]:
        return {pair: one[0].name for pair, one in choose_models(models, only).items()}

    assert names(many, few, fewer) == {
        ("en", "zh-Hant"): "many", ("en", "DE"): "few", ("en", "fr"): "fewer",
    }  # fmt: skip
    assert names(fewer, given)["en", "fr"] == "given"
    in_order = [one.name for one in choose_models([many, given, fewer], None)["en", "fr"]]
    assert in_order == ["given", "fewer", "many"]
    assert names(many, few, only=("en", "zh")) == {("en", "zh-Hant"): "many"}


def test_a_model_that_others_replace_is_named_once() -> None:
    codes = tuple(f"{one}{two}" for one in "abcdefgh" for two in "xyz")
    many = known("many", ("en", "fr"))
    many.directions = AnyPair(codes)
    pairs = [known(f"pair-{code}", ("ax", code)) for code in codes[1:]]
    with capture_logs() as logged:
        choose_models([many, *pairs], None)
    [warning] = logged
    assert (warning["unused"], len(warning["used"])) == ("many", len(pairs))
    assert warning["directions"] == f"ax to {', '.join(codes[1:])}"
