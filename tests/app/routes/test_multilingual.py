"""A server with M2M-100 or NLLB, models of 100 or 200 languages."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from app.errors import SettingsError
from app.loading import load_runtime
from app.observe.metrics import Metrics
from app.settings import Settings
from model.interop.marian_import import import_m2m100
from tests.app.asking import answered, content
from tests.app.conftest import Serve
from tests.app.routes.test_translate_stream import streamed, streamed_text
from tests.m2m100_folder import MakeMultilingual

TEXT = "the dog sees a green house"
LIMIT: dict[str, Any] = {"max_target_tokens": 8}
PAIRS = [
    ("en", "fr"), ("EN", "FR"), ("eng_Latn", "fra_Latn"), ("eng", "fr-CA"), ("en-GB", "fra"),
    ("en", "zh"), ("en", "ZH-HANS"), ("en", "zho_Hans"), ("en", "zh-TW"), ("fr", "zh-TW"),
]  # fmt: skip


@pytest.fixture(scope="module")
def m2m100(make_multilingual: MakeMultilingual, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "m2m100"
    import_m2m100(make_multilingual(), folder)
    return folder


@pytest.fixture(scope="module")
def nllb(make_multilingual: MakeMultilingual, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "nllb"
    import_m2m100(make_multilingual(kind="nllb", seed=1), folder)
    return folder


async def test_any_pair_by_any_form_of_its_codes(serve: Serve, nllb: Path) -> None:
    async with serve(checkpoint=nllb) as client:
        texts = {}
        for source, target in PAIRS:
            answer = await answered(client, text=TEXT, source=source, target=target, **LIMIT)
            [one] = answer["translations"]
            texts[source, target] = one["text"], one["source"], one["target"]
        unknown = await client.post("/translate", json={"text": "a", "source": "en", "target": "x"})
        lacking = await client.post("/translate", json={"text": "a", "source": "en"})
    assert len({texts["en", "fr"], texts["EN", "FR"], texts["eng_Latn", "fra_Latn"]}) == 1
    assert texts["eng", "fr-CA"] == texts["en-GB", "fra"] == texts["en", "fr"]
    assert texts["en", "zh"] == texts["en", "ZH-HANS"] == texts["en", "zho_Hans"]
    assert texts["en", "zh"][1:] == ("en", "zh-Hans")
    assert texts["en", "zh-TW"][1:] == ("en", "zh-Hant")
    # The source language is read, the target language is the given first token.
    assert len({texts[pair][0] for pair in texts}) > 2
    for refused in (unknown, lacking):
        assert refused.status_code in (404, 422)
        assert "any two of ace-Arab, ace-Latn" in refused.text
        assert len(refused.text) < 3000


async def test_the_models_are_described_in_short(serve: Serve, m2m100: Path) -> None:
    async with serve(checkpoint=m2m100) as client:
        info = await client.get("/info")
        languages = (await client.get("/languages")).json()
        deepl = (await client.get("/v2/languages", params={"type": "target"})).json()
        schema = (await client.get("/openapi.json")).json()
    assert info.json()["directions"]["any_of"][:2] == ["af", "am"]
    assert info.json()["pivoted"] == []
    assert len(info.content) < 3000
    assert len(languages) == 100
    assert {len(language["targets"]) for language in languages} == {99}
    assert {"language": "FR", "name": "French", "supports_formality": False} in deepl
    assert "AnyOf" in schema["components"]["schemas"]


async def test_a_detected_source_is_one_that_the_model_knows(serve: Serve, m2m100: Path) -> None:
    async with serve(checkpoint=m2m100) as client:
        texts = [
            "Wo ist der Bahnhof, bitte, und wann fährt heute der nächste Zug nach Berlin ab?",
            "Où est la gare, s’il vous plaît, et à quelle heure part le prochain train ?",
            "駅はどこですか。次の電車は何時に出発しますか。",
        ]
        answer = await answered(client, text=texts, source="auto", target="en", **LIMIT)
    assert [one["source"] for one in answer["translations"]] == ["de", "fr", "ja"]


async def test_streams_explanations_scores_terms_and_files(serve: Serve, m2m100: Path) -> None:
    pair = {"source": "en", "target": "de"}
    async with serve(checkpoint=m2m100) as client:
        plain = await answered(client, text=TEXT, **pair, **LIMIT)
        events = await streamed(client, text=TEXT, **pair, **LIMIT)
        detailed = await answered(
            client, text=TEXT, alignment=True, attention={"encoding": "json"}, **pair, **LIMIT
        )
        explained = content(await client.post("/explain", json={"text": TEXT, **pair, **LIMIT}))
        text = plain["translations"][0]["text"]
        scored = content(
            await client.post("/score", json={"text": TEXT, "translation": "le chien", **pair})
        )
        term = await answered(client, text=TEXT, glossary={"dog": "chat"}, **pair)
        tagged = await answered(client, text="<b>the dog</b> sees", format="html", **pair, **LIMIT)
        file = await client.post(
            "/translate_file",
            files={"file": ("a.txt", b"the dog.\n\nthe house.\n")},
            data=pair,
            headers={"Accept": "application/octet-stream"},
        )
    assert streamed_text(events, 0) == text
    [segment] = detailed["translations"][0]["segments"]
    assert [token["piece"] for token in segment["source_tokens"]][::99] == ["__en__"]
    first = segment["target_tokens"][0]
    assert (first["piece"], first["start"], first["end"], first["log_prob"]) == ("__de__", 0, 0, 0)
    assert segment["attention"]["shape"][2] == len(segment["target_tokens"])
    steps = explained["search"]["steps"] if "search" in explained else explained["steps"]
    assert steps[0]["beams"][0]["likeliest"][0]["piece"] == "__de__"
    tokens = scored["scores"][0]["segments"][0]["target_tokens"]
    assert (tokens[0]["piece"], tokens[0]["log_prob"]) == ("__de__", 0)
    assert tokens[1]["log_prob"] < 0
    [translation] = term["translations"]  # random weights may leave no position for a term
    assert ("chat" in translation["text"]) is ("glossary_unmet" not in translation["flags"])
    assert "<b>" in tagged["translations"][0]["text"]
    assert file.status_code == httpx.codes.OK
    assert b"\n\n" in file.content


def test_two_models_of_a_pair_are_refused(m2m100: Path, nllb: Path, tiny_checkpoint: Path) -> None:
    for other in (tiny_checkpoint, nllb):
        with pytest.raises(SettingsError, match="both translate"):
            load_runtime(Settings.parse(checkpoint=[m2m100, other]), Metrics())
