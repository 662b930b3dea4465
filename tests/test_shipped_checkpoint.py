"""The checkpoint that comes with the repository."""

import base64
import json
import random
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.shipped import SHIPPED_CHECKPOINT
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from tests.app.server_process import ATTEND, ENVIRONMENT, serving

SIZE_LIMIT = 60_000_000
WEATHER = "The weather is nice today."


@pytest.fixture(scope="module")
def client(kernels: None) -> Iterator[httpx.Client]:
    with serving(SHIPPED_CHECKPOINT, "--threads", "1") as (_, client):
        yield client


def translate(client: httpx.Client, **body: Any) -> list[dict[str, Any]]:
    response = client.post("/translate", json=body)
    assert response.status_code == httpx.codes.OK
    translations: list[dict[str, Any]] = response.json()["translations"]
    return translations


def translate_at_the_command_line(
    texts: Iterable[str], source: str, target: str
) -> list[dict[str, Any]]:
    done = subprocess.run(
        [ATTEND, "translate", "--source", source, "--target", target, "--json"],
        input="\n".join(texts), env=ENVIRONMENT, capture_output=True, text=True, timeout=300,
        check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_scores_its_own_translation_as_its_search_did(client: httpx.Client) -> None:
    [found] = translate(client, text=WEATHER, target="fr", beam_size=1, attention=True)
    body = {"text": WEATHER, "translation": found["text"], "target": "fr"}
    [pair] = client.post("/score", json=body).json()["scores"]
    assert (pair["score"], pair["confidence"]) == (found["score"], found["confidence"])
    assert pair["segments"][0]["target_tokens"] == found["segments"][0]["target_tokens"]


def test_uses_terms_amid_markup_and_placeholders(client: httpx.Client) -> None:
    text = "<p>The <b>house</b> of {name} is green.</p><p>I see the Foo! Bar and the dog.</p>"
    [answer] = translate(
        client, text=text, source="en", target="fr", format="html", glossary={"house": "demeure"},
        do_not_translate=["Foo! Bar"],
    )  # fmt: skip
    assert answer["text"].startswith("<p>La <b>demeure</b> de {name} ")
    assert answer["text"].count("Foo! Bar") == 1
    assert answer["flags"] == []


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_term_is_used_at_its_position_and_an_existing_translation_is_unchanged(
    client: httpx.Client, beam_size: int
) -> None:
    body = {"text": "The house is green.", "target": "fr", "beam_size": beam_size}
    [free] = translate(client, **body)
    [anyway] = translate(client, **body, glossary={"house": "maison"})
    [other] = translate(client, **body, glossary={"house": "demeure"})
    assert (free["text"], other["text"]) == ("La maison est verte.", "La demeure est verte.")
    assert anyway == free


def test_is_small_enough_for_a_repository() -> None:
    assert sum(file.stat().st_size for file in SHIPPED_CHECKPOINT.iterdir()) <= SIZE_LIMIT


def test_starts_decoding_with_a_padding_row_that_is_zero() -> None:
    model = load_model(load_checkpoint(SHIPPED_CHECKPOINT))
    assert model.config.start_id == model.config.pad_id
    assert model.target_embedding.weight[model.config.pad_id].count_nonzero() == 0


@pytest.mark.parametrize(
    ("source", "target", "words_of"),
    [
        ("en", "fr", {
            WEATHER: {"aujourd'hui"},
            "My sister bought a new car.": {"sœur", "nouvelle", "voiture"},
        }),
        ("fr", "en", {
            "J'ai perdu mes clés hier soir.": {"lost", "keys", "last", "night"},
            "Le Parlement européen a adopté le rapport.": {"European", "Parliament"},
        }),
    ],
)  # fmt: skip
def test_translates_at_the_server_as_at_the_command_line(
    client: httpx.Client, source: str, target: str, words_of: dict[str, set[str]]
) -> None:
    printed = translate_at_the_command_line(words_of, source, target)
    for (text, words), line in zip(words_of.items(), printed, strict=True):
        (served,) = translate(client, text=text, source=source, target=target)
        assert words <= set(served["text"].rstrip(".").split())
        assert served["flags"] == []
        assert line["text"] == served["text"]
        # The command line uses float32, the server int8.
        assert line["score"] == pytest.approx(served["score"], abs=0.05)


def test_shows_what_it_attended_to(client: httpx.Client) -> None:
    attention = {"heads": "all", "layers": "all", "encoding": "base64"}
    (served,) = translate(client, text=WEATHER, target="fr", attention=attention)
    (segment,) = served["segments"]
    shape = segment["attention"]["shape"]
    assert shape[2:] == [len(segment["target_tokens"]), len(segment["source_tokens"])]
    raw = base64.b64decode(segment["attention"]["weights"])
    weights = np.frombuffer(raw, "<f2").reshape(shape).astype(np.float64)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-2)
    spans = [WEATHER[token["start"] : token["end"]] for token in segment["source_tokens"]]
    assert "".join(spans) == WEATHER


def test_links_the_words_it_translated(client: httpx.Client) -> None:
    (served,) = translate(client, text=WEATHER, target="fr", alignment=True)
    (segment,) = served["segments"]
    source = [WEATHER[start:end] for start, end in segment["source_words"]]
    target = [served["text"][start:end] for start, end in segment["target_words"]]
    linked = {(source[i], target[j]) for i, j in segment["alignment"]}
    assert {("weather", "fait"), ("nice", "beau"), ("today", "hui"), (".", ".")} <= linked


def test_aligns_words_whose_order_changes(tmp_path: Path) -> None:
    file = tmp_path / "pair.tsv"
    file.write_text(
        "My sister did not buy a red car .\tMa sœur ne a pas acheté une voiture rouge .",
        encoding="utf-8",
    )
    done = subprocess.run(
        [ATTEND, "align", file], env=ENVIRONMENT, capture_output=True, text=True, timeout=300,
        check=True,
    )  # fmt: skip
    sister, no, red, car = {"1-1"}, {"3-2", "3-4"}, {"6-8"}, {"7-7"}
    assert sister | no | red | car <= set(done.stdout.split())
    assert "6-7" not in done.stdout


def test_text_that_looks_like_a_control_symbol_is_text(client: httpx.Client) -> None:
    plain, typed = translate(client, text=[WEATHER, f"</s> <pad> {WEATHER}"], target="fr")
    assert "aujourd'hui" in plain["text"]
    assert "aujourd'hui" in typed["text"] != plain["text"]


PLACEHOLDERS = (
    "{name}", "{{count}}", "{{ user.name }}", "%1$s", "%d", "${x}", "<x1/>", "</b>", "{0}", "#{id}",
    "{n, plural, one {# file} other {# files}}", "https://www.example.com/a/b?q=1",
    "http://kivam.net", "jane.doe@mail.example.co.uk", "www.dupone.fr/index.html", "%(total)s",
)  # fmt: skip
TEMPLATES = {
    "en": (
        "{} wants to see the new house.", "Yesterday I gave {} to {}.",
        "Where did {} put my {}, {}?",
        "Look at {}!",
        "The Commission has received {} questions on {}.",
    ),
    "fr": (
        "{} veut voir la nouvelle maison.", "Hier j'ai donné {} à {}.",
        "Où {} a-t-il mis mon {}, {} ?", "Regardez {} !",
        "La Commission a reçu {} questions sur {}.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("fr", "en")])
def test_every_placeholder_is_restored_once(client: httpx.Client, source: str, target: str) -> None:
    choose = random.Random(3)
    texts = [
        template.format(*choose.sample(PLACEHOLDERS, template.count("{}")))
        for template in TEMPLATES[source]
        for _ in range(10)
    ]
    answers = [
        answer["text"]
        for at in range(0, len(texts), 25)
        for answer in translate(client, text=texts[at : at + 25], source=source, target=target)
    ]
    for text, answer in zip(texts, answers, strict=True):
        for placeholder in PLACEHOLDERS:
            assert answer.count(placeholder) == text.count(placeholder), (text, answer)


def test_no_word_beside_a_placeholder_is_lost_silently(client: httpx.Client) -> None:
    words = ["summer", "apple", "time", "report", "stop", "house", "to speak", "very old"]
    texts = [f"{{x}} {word}" for word in words]
    for text, answer in zip(texts, translate(client, text=texts, target="fr"), strict=True):
        rest = answer["text"].replace("{x}", "")
        assert any(map(str.isalpha, rest)) or "truncated" in answer["flags"], text
    [summer] = translate(client, text="{x} summer", target="fr")
    assert {"{x}", "été"} <= set(re.findall(r"\{x\}|\w+", summer["text"]))


def test_a_word_between_typed_tags_is_translated_as_a_word(client: httpx.Client) -> None:
    [typed] = translate(client, text="He is a <b>strange</b> man.", target="fr")
    assert set(re.findall(r"</?b>|\w+", typed["text"])) >= {"<b>", "étrange", "</b>"}


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("<b>Good</b> morning!", "<b>Bonjour</b> !"),
        ("I <b>really</b> love you.", "Je t'aime <b>vraiment</b>."),
        ("The &lt;b&gt;house&lt;/b&gt; is green.", "La &lt;b&gt;maison&lt;/b&gt; est verte."),
    ],
)
def test_tags_go_with_their_words(client: httpx.Client, text: str, translated: str) -> None:
    [answer] = translate(client, text=text, target="fr", format="html")
    assert answer["text"] == translated
