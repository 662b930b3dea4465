"""Several checkpoints in one server: the languages choose one, or two in a row."""

import asyncio
import json
import math
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.errors import SettingsError
from app.loading import load_runtime
from app.observe.metrics import Metrics
from app.settings import Settings
from app.translation.segments import attempts
from model.engine.protocol import Finished
from tests.app.asking import answered
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine

Row = tuple[Path, Path]


async def test_the_languages_choose_the_model(serve: Serve, row_of_checkpoints: Row) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        models = {
            pair: (await answered(client, text="chat", source=pair[:2], target=pair[3:]))["model"]
            for pair in ("fr-en", "en-fr", "en-de")
        }
        inferred = await answered(client, text="chat", target="de")
        unclear = await client.post("/translate", json={"text": "chat", "source": "en"})
    assert models == {"fr-en": "fr-en", "en-fr": "fr-en", "en-de": "en-de"}
    assert (inferred["model"], inferred["translations"][0]["source"]) == ("en-de", "en")
    assert "pivot" not in inferred["translations"][0]
    assert unclear.json()["errors"][0]["pointer"] == "/target"


async def test_a_pivot_translates_the_first_answer(serve: Serve, row_of_checkpoints: Row) -> None:
    texts = ["le chat voit la maison", " ", "temps"]
    limit = {"max_target_tokens": 6}
    async with serve(checkpoint=row_of_checkpoints) as client:
        whole = await answered(client, text=texts, source="fr", target="de", beam_size=3,
                               alternatives=2, **limit)  # fmt: skip
        first = await answered(client, text=texts, source="fr", target="en", beam_size=3)
        between = [translation["text"] for translation in first["translations"]]
        second = await answered(client, text=between, source="en", target="de", beam_size=3,
                                alternatives=2, **limit)  # fmt: skip
    assert whole["model"] == "fr-en+en-de"
    assert second["usage"]["target_tokens"] > 0  # the second model read a text
    for translation, one, other in zip(
        whole["translations"], first["translations"], second["translations"], strict=True
    ):
        assert (translation["source"], translation["pivot"], translation["target"]) == (
            "fr", "en", "de",
        )  # fmt: skip
        assert translation["text"] == other["text"]
        assert translation["score"] == pytest.approx(one["score"] + other["score"], abs=1e-4)
        assert translation["flags"] == sorted({*one["flags"], *other["flags"]})
        for mine, theirs in zip(translation["alternatives"], other["alternatives"], strict=True):
            assert mine["text"] == theirs["text"]
            assert mine["score"] == pytest.approx(theirs["score"] + one["score"], abs=1e-4)
    usages = [answer["usage"] for answer in (first, second)]
    assert whole["usage"] == {
        "characters": sum(map(len, texts)),
        "source_tokens": sum(usage["source_tokens"] for usage in usages),
        "target_tokens": sum(usage["target_tokens"] for usage in usages),
    }


async def test_confidence_covers_the_tokens_of_both(serve: Serve, row_of_checkpoints: Row) -> None:
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        [translation] = (await answered(client, text="chat", source="fr", target="de"))[
            "translations"
        ]
    assert translation["confidence"] == pytest.approx(math.exp(-0.1))
    assert translation["score"] == pytest.approx(-0.2)


class CappingEngine(FakeEngine):
    """Truncates every translation."""

    def step(self) -> list[Finished]:
        return [
            Finished(job_id, [replace(hypothesis, capped=True) for hypothesis in outcome])
            if isinstance(outcome, list)
            else Finished(job_id, outcome)
            for job_id, outcome in super().step()
        ]


@pytest.mark.parametrize("engines", [(FakeEngine, CappingEngine), (CappingEngine, FakeEngine)])
async def test_a_length_cap_is_reported(
    serve: Serve, row_of_checkpoints: Row, engines: tuple[type[FakeEngine], type[FakeEngine]]
) -> None:
    first, second = engines
    async with serve(first(), second(), checkpoint=row_of_checkpoints) as client:
        answer = await answered(client, text="chat", source="fr", target="de")
    assert "length_capped" in answer["translations"][0]["flags"]


@pytest.mark.parametrize("field", ["attention", "alignment"])
async def test_a_pivot_has_no_explanation(
    serve: Serve, row_of_checkpoints: Row, field: str
) -> None:
    body = {"text": "chat", "source": "fr", "target": "de", field: True}
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        response = await client.post("/translate", json=body)
    assert response.status_code == 422
    [error] = response.json()["errors"]
    assert error["pointer"] == f"/{field}"
    assert "fr to en and en to de" in error["detail"]


async def test_a_pivoted_request_has_one_slot(serve: Serve, row_of_checkpoints: Row) -> None:
    first, second = (FakeEngine(gate=threading.Semaphore(1)) for _ in range(2))  # for the warm-up
    body = {"text": "chat", "source": "fr", "target": "de"}
    direct = {"text": "chat", "source": "en", "target": "fr"}
    settings = {"checkpoint": row_of_checkpoints, "max_concurrent_requests": 1}
    async with serve(first, second, **settings) as client:
        for engine in (first, second):
            engine.in_step.clear()
        pivoting = asyncio.create_task(client.post("/translate", json=body))
        for engine in (first, second):
            await asyncio.to_thread(engine.in_step.wait, 60)
            refused = await client.post("/translate", json=direct)
            assert refused.status_code == 429
            engine.release(1)
        assert (await pivoting).status_code == httpx.codes.OK
        first.release(1)
        assert (await client.post("/translate", json=direct)).status_code == httpx.codes.OK


@pytest.mark.parametrize("broken", [0, 1])
async def test_a_dead_engine_fails_probes(
    serve: Serve, row_of_checkpoints: Row, broken: int
) -> None:
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        app = client._transport.app  # type: ignore[attr-defined]
        await app.state.lifecycle.started.shelf.models[broken].scheduler.stop()
        codes = [(await client.get(path)).status_code for path in ("/livez", "/readyz")]
    assert codes == [503, 503]


async def test_info_and_languages_are_of_all_models(serve: Serve, row_of_checkpoints: Row) -> None:
    async with serve(checkpoint=row_of_checkpoints) as client:
        info = (await client.get("/info")).json()
        languages = (await client.get("/languages")).json()
    assert (info["model"], info["directions"]) == ("fr-en", [["fr", "en"], ["en", "fr"]])
    [other] = info["others"]
    assert (other["model"], other["directions"]) == ("en-de", [["en", "de"]])
    assert other["digest"] != info["digest"]
    assert info["pivoted"] == [["fr", "en", "de"]]
    assert [(language["code"], language["targets"]) for language in languages] == [
        ("fr", ["en", "de"]),
        ("en", ["fr", "de"]),
    ]


def test_a_direction_claimed_twice_is_refused(
    tiny_checkpoint: Path, row_of_checkpoints: Row, tmp_path: Path
) -> None:
    without_weights = tmp_path / "config-alone"
    without_weights.mkdir()
    config = (tiny_checkpoint / "config.json").read_bytes()
    (without_weights / "config.json").write_bytes(config)
    settings = Settings.parse(checkpoint=[row_of_checkpoints[0], without_weights])
    with pytest.raises(SettingsError) as refused:
        load_runtime(settings, Metrics())
    assert str(refused.value) == (
        f"'checkpoint': {row_of_checkpoints[0]} and {without_weights} both translate en to fr"
    )


@pytest.fixture
def narrow_row(row_of_checkpoints: Row, tmp_path: Path) -> Row:
    """The second model reads at most 8 tokens."""
    first, second = row_of_checkpoints
    narrow = tmp_path / "en-de"
    shutil.copytree(second, narrow)
    values = json.loads((narrow / "config.json").read_text("utf-8"))
    values["transformer"]["max_length"] = 8
    (narrow / "config.json").write_text(json.dumps(values), "utf-8")
    return first, narrow


@pytest.mark.parametrize("split", [True, False, "nonewlines"])
async def test_text_is_cut_for_the_second(serve: Serve, narrow_row: Row, split: bool | str) -> None:
    texts = ["le chat voit la maison et le chien aime la vieille maison", "temps"]
    options = {"split_sentences": split}
    async with serve(checkpoint=narrow_row) as client:
        whole = await answered(client, text=texts, source="fr", target="de", **options)
        first = await answered(client, text=texts, source="fr", target="en", **options)
        between = [translation["text"] for translation in first["translations"]]
        second = await answered(client, text=between, source="en", target="de", **options)
    assert second["usage"]["source_tokens"] > 16  # unchanged, they are not two sentences
    for translation, one, other in zip(
        whole["translations"], first["translations"], second["translations"], strict=True
    ):
        assert translation["text"] == other["text"]
        assert translation["score"] == pytest.approx(one["score"] + other["score"], abs=1e-4)
        assert translation["flags"] == sorted({*one["flags"], *other["flags"]})
    assert whole["usage"]["source_tokens"] == sum(
        answer["usage"]["source_tokens"] for answer in (first, second)
    )


async def test_a_term_too_long_for_the_second_is_flagged(
    serve: Serve, narrow_row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The weights are random: translations with and without a term are unrelated.
    monkeypatch.setattr(attempts, "MIN_SIMILARITY", 0)
    term = "the old green house and the nice old dog"
    body = {"text": "la maison", "source": "fr", "target": "de", "glossary": {"la maison": term}}
    async with serve(checkpoint=narrow_row) as client:
        [translation] = (await answered(client, **body))["translations"]
        [first] = (await answered(client, **body | {"target": "en"}))["translations"]
    assert term in first["text"]
    assert term in translation["text"]
    assert "truncated" in translation["flags"]
