"""Firefox models, from a registry to the answers of a server process."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from app.cli.main import main
from tests.app.asking import content
from tests.app.routes.test_translate_stream import parse, streamed_text
from tests.app.server_process import serving
from tests.app.wire.test_problems import problem
from tests.firefox_model import write_registry

TEXTS = ["w7", "w12 w30 w44 w9", "w3 w3 w21 w50 w41 w18 w2"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, kernels: None) -> Iterator[httpx.Client]:
    """A server of three pulled models."""
    folder = tmp_path_factory.mktemp("firefox")
    registry = write_registry(folder, ("en-fr", "fr-en", "en-de"))
    shelf, cache = str(folder / "models"), str(folder / "cache")
    pull = ["pull", "firefox:all", shelf, "--registry", str(registry), "--cache", cache]
    assert CliRunner().invoke(main, pull).exit_code == 0
    with serving(None, "--models", shelf, "--threads", "1", "--sentence-cache-bytes", "0") as (
        _,
        client,
    ):
        yield client


def post(client: httpx.Client, path: str = "/translate", **body: Any) -> dict[str, Any]:
    return content(client.post(path, json={"source": "en", "target": "fr"} | body))


def words_of(text: str) -> set[str]:
    return set(text.split())


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("pair", [("en", "fr"), ("fr", "de")])
def test_a_stream_is_the_answer_in_parts(
    client: httpx.Client, pair: tuple[str, str], beam_size: int
) -> None:
    source, target = pair
    body: dict[str, Any] = {
        "text": TEXTS, "source": source, "target": target, "beam_size": beam_size
    }  # fmt: skip
    answer = post(client, **body)
    events = list(parse(client.post("/translate", json=body | {"stream": True}).text))
    assert events[-1] == ("done", answer)
    for index, translation in enumerate(answer["translations"]):
        assert streamed_text(events, index) == translation["text"]


@pytest.mark.parametrize("shortlist", [True, False])
def test_answers_are_the_same_in_any_batch(client: httpx.Client, shortlist: bool) -> None:
    bodies: list[dict[str, Any]] = [
        {"text": text, "beam_size": beam_size, "shortlist": shortlist, "attention": True}
        for text in TEXTS
        for beam_size in (1, 3)
    ]
    alone = [post(client, **body) for body in bodies]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda body: post(client, **body), bodies * 2))
    assert together == alone * 2


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_glossary_has_words_outside_of_the_shortlist(
    client: httpx.Client, beam_size: int
) -> None:
    # The shortlist has the first 56 pieces of 60, and those of the source.
    [answer] = post(client, text="w7 w12 w9 w30", glossary={"w12": "w58"}, beam_size=beam_size)[
        "translations"
    ]
    assert "w58" in words_of(answer["text"])
    assert "glossary_unmet" not in answer["flags"]
    [flagged] = post(client, text="w7 w12 w9 w30", glossary={"w12": "漢字"}, beam_size=beam_size)[
        "translations"
    ]
    assert ("漢字" in flagged["text"]) != ("glossary_unmet" in flagged["flags"])


def test_a_score_is_over_the_whole_vocabulary(client: httpx.Client) -> None:
    for text in TEXTS:
        found = {
            shortlist: post(client, text=text, shortlist=shortlist, attention=True)
            for shortlist in (True, False)
        }
        for shortlist, answer in found.items():
            [translation] = answer["translations"]
            scored = post(client, "/score", text=text, translation=translation["text"])
            [segment], [given] = translation["segments"], scored["scores"][0]["segments"]
            ours = [one["log_prob"] for one in segment["target_tokens"] if one["piece"] != "</s>"]
            theirs = [one["log_prob"] for one in given["target_tokens"]][: len(ours)]
            if shortlist:  # with fewer tokens, each has more probability
                assert all(one >= other for one, other in zip(ours, theirs, strict=True))
                assert sum(ours) > sum(theirs)
            else:
                assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_recurrent_decoder_is_explained_without_attention(client: httpx.Client) -> None:
    text = TEXTS[1]
    answer = post(
        client, "/explain", text=text, attention={"kind": "cross", "head": 0, "token": 0},
        activations={"stack": "decoder", "token": 1},
    )  # fmt: skip
    assert answer["text"] == post(client, text=text)["translations"][0]["text"]
    names = {one["sublayer"] for one in answer["activations"]["vectors"]}
    assert "ssru" in names
    assert "self_attention" not in names
    assert sum(one["weight"] for one in answer["attention"]["columns"]) == pytest.approx(1)
    body = {"text": text, "source": "en", "target": "fr"}
    for path, attention in (
        ("/explain", {"kind": "decoder", "head": 0, "token": 0}),
        ("/translate", {"kind": "decoder"}),
    ):
        refused = client.post(path, json=body | {"attention": attention})
        [error] = problem(refused, 422, "invalid-request")["errors"]
        assert error["pointer"] == "/attention/kind"
        assert "recurrent" in error["detail"]


def test_two_models_translate_through_english(client: httpx.Client) -> None:
    answer = post(client, text=TEXTS, source="fr", target="de")
    first = post(client, text=TEXTS, source="fr", target="en")["translations"]
    second = post(client, text=[one["text"] for one in first], target="de")["translations"]
    assert answer["model"] == "firefox-fr-en+firefox-en-de"
    for through, one, other in zip(answer["translations"], first, second, strict=True):
        assert through["pivot"] == "en"
        assert through["text"] == other["text"]
        assert through["score"] == pytest.approx(one["score"] + other["score"])


def test_flags_report_known_faults(client: httpx.Client) -> None:
    text = TEXTS[2]
    [capped] = post(client, text=text, max_target_tokens=2)["translations"]
    assert "length_capped" in capped["flags"]
    assert len(words_of(capped["text"])) <= 2
    [unread] = post(client, text=f"{text} \U0001f600")["translations"]
    assert "\U0001f600" in unread["text"] or unread["flags"]
    [copied] = post(client, text="漢字")["translations"]
    assert (copied["text"], copied["flags"]) == ("漢字", ["copied_source"])


def test_what_is_served_is_described(client: httpx.Client) -> None:
    languages = {one["code"]: sorted(one["targets"]) for one in client.get("/languages").json()}
    assert languages == {"en": ["de", "fr"], "fr": ["de", "en"]}
    info = client.get("/info").json()
    assert json.dumps(info).count('"autoregression": "ssru"') >= 1
