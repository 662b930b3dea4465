"""Answers of POST /translate to valid requests, with random weights."""

import base64
import math
import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from model.interop.languages import Languages
from model.interop.marian_import import import_marian
from tests.app.asking import answered
from tests.app.conftest import Client, Serve
from tests.cases import cases
from tests.marian_folder import MakeFolder


async def test_the_answer_has_the_fields_of_the_contract(served: Client) -> None:
    answer = await answered(served, text="The house.", source="en", target="fr")
    [translation] = answer["translations"]
    assert answer["model"] == "tiny"
    assert set(translation) == {
        "text", "source", "target", "score", "confidence", "flags", "alternatives",
    }  # fmt: skip
    assert (translation["source"], translation["target"]) == ("en", "fr")
    assert translation["alternatives"] == []
    assert answer["usage"]["characters"] == len("The house.")


async def test_a_list_keeps_its_order_and_translates_as_its_texts_do_alone(served: Client) -> None:
    texts = ["The house is green.", "Cat.", "The old dog sees the cat and the house."]
    together = await answered(served, text=texts, target="fr", max_target_tokens=12)
    for text, among in zip(texts, together["translations"], strict=True):
        alone = await answered(served, text=text, target="fr", max_target_tokens=12)
        [translation] = alone["translations"]
        assert among["text"] == translation["text"]
        assert among["score"] == pytest.approx(translation["score"], abs=1e-4)


async def test_a_seed_gives_the_same_sample(served: Client) -> None:
    async def sampled(seed: int, *beside: str) -> str:
        answer = await answered(
            served, text=["The old dog.", *beside], target="fr", max_target_tokens=12,
            temperature=5.0, seed=seed, no_repeat_ngram_size=2,
        )  # fmt: skip
        text: str = answer["translations"][0]["text"]
        return text

    drawn = [await sampled(seed) for seed in range(6)]
    assert len(set(drawn)) > 3
    assert [await sampled(seed, "Cat.", "A dog.") for seed in range(6)] == drawn


async def test_sampling_needs_a_greedy_search(served: Client) -> None:
    body = {"text": "Cat.", "target": "fr", "temperature": 1.0, "beam_size": 2}
    refused = await served.post("/translate", json=body)
    assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert refused.json()["errors"][0]["pointer"] == "/temperature"


async def test_a_text_names_its_target(
    serve: Serve, make_folder: MakeFolder, tmp_path: Path
) -> None:
    import_marian(make_folder(multi=True), tmp_path / "ours", None, Languages(["en"]))
    async with serve(checkpoint=tmp_path / "ours") as client:
        answer = await answered(
            client, text=[">>por_BR<< the dog", "the dog"], target="fr", max_target_tokens=9
        )
        named = await answered(client, text="the dog", target="pt-BR", max_target_tokens=9)
    assert [one["target"] for one in answer["translations"]] == ["pt-BR", "fr"]
    assert answer["translations"][0]["text"] == named["translations"][0]["text"]


@pytest.mark.parametrize(
    "text", cases(__file__, "where_nothing_is_to_translate_the_text_comes_back")
)
async def test_texts_without_words_are_returned(served: Client, text: str) -> None:
    answer = await answered(served, text=[text, "cat"], target="fr", attention=True)
    nothing = answer["translations"][0]
    assert nothing["text"] == text
    assert (nothing["score"], nothing["confidence"], nothing["flags"]) == (0, 1, [])
    assert nothing["segments"] == []


async def test_alternatives_follow_the_best_in_falling_score(served: Client) -> None:
    answer = await answered(served, text="cat", target="fr", beam_size=4, alternatives=3)
    [translation] = answer["translations"]
    scores = [translation["score"], *(other["score"] for other in translation["alternatives"])]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)


async def test_a_translation_cut_at_the_limit_is_flagged(served: Client) -> None:
    answer = await answered(served, text="cat", target="fr", max_target_tokens=1, beam_size=1)
    huge = await answered(served, text="cat", target="fr", max_target_tokens=10**30)
    assert "length_capped" in answer["translations"][0]["flags"]
    assert answer["usage"]["target_tokens"] == 1
    assert huge["usage"]["target_tokens"] <= 128  # the model's own limit


async def test_a_lone_surrogate_is_read_as_the_replacement_character(served: Client) -> None:
    body = b'{"text": ["a\\ud800b", "\\udfff"], "target": "fr", "attention": true}'
    response = await served.post("/translate", content=body)
    replaced = await answered(served, text=["a\ufffdb", "\ufffd"], target="fr", attention=True)
    assert response.json() == replaced


@pytest.mark.parametrize("text", ["a\x00b", "<2en> cat", "a 🏳️‍🌈 b", "ﬁ e\u0301 …", "שלום"])
async def test_odd_characters_are_text(served: Client, text: str) -> None:
    answer = await answered(
        served, text=text, source="en", target="fr", max_target_tokens=8, attention=True
    )
    for segment in answer["translations"][0]["segments"]:
        start, end = segment["source"]
        assert 0 <= start < end <= len(text)
        for token in segment["source_tokens"]:
            assert start <= token["start"] <= token["end"] <= end


@pytest.mark.parametrize(
    ("codes", "direction"),
    [
        ({"source": "en", "target": "fr"}, ("en", "fr")),
        ({"source": "EN-gb", "target": "Fr-CA"}, ("en", "fr")),
        ({"target": "en"}, ("fr", "en")),
        ({"source": "fr-Latn-FR"}, ("fr", "en")),
    ],
)
async def test_language_codes(
    served: Client, codes: dict[str, str], direction: tuple[str, str]
) -> None:
    answer = await answered(served, text="cat", max_target_tokens=2, **codes)
    [translation] = answer["translations"]
    assert (translation["source"], translation["target"]) == direction


async def test_attention_goes_with_its_tokens(served: Client) -> None:
    text = "The old ｃａｔ est … vu"
    answer = await answered(served, text=text, target="fr", attention=True, max_target_tokens=9)
    [translation] = answer["translations"]
    [segment] = translation["segments"]
    attention, source, target = (
        segment["attention"], segment["source_tokens"], segment["target_tokens"],
    )  # fmt: skip
    assert (attention["kind"], attention["layers"], attention["heads"]) == ("cross", [1], "mean")
    assert attention["shape"] == [1, 1, len(target), len(source)]
    assert np.array(attention["weights"]).shape == (1, 1, len(target), len(source))
    np.testing.assert_allclose(np.sum(attention["weights"], axis=-1), 1, atol=1e-3)
    assert answer["usage"] == {
        "characters": len(text), "source_tokens": len(source), "target_tokens": len(target),
    }  # fmt: skip
    assert (source[0]["piece"], source[-1]["piece"]) == ("<2fr>", "</s>")
    assert source[-1]["start"] == source[-1]["end"] == len(text)
    assert segment["target"] == [0, len(translation["text"])]
    log_probs = [token["log_prob"] for token in target]
    assert translation["confidence"] == pytest.approx(math.exp(sum(log_probs) / len(log_probs)))


async def test_alignment_links_words_by_their_spans(served: Client) -> None:
    text = "  l'oｃａt, the cat"
    answer = await answered(served, text=[text, "..", " "], target="fr", alignment=True)
    worded, _, nothing = answer["translations"]
    assert nothing["segments"] == []
    [segment] = worded["segments"]
    assert "attention" not in segment
    assert [text[start:end] for start, end in segment["source_words"]] == [
        "l'", "oｃａt", ",", "the", "cat",
    ]  # fmt: skip
    covered = "".join(worded["text"][start:end] for start, end in segment["target_words"])
    assert covered == "".join(worded["text"].split())
    # By default, each target word is linked to the source word with the largest weight.
    assert segment["alignment"] == sorted(segment["alignment"])
    assert sorted(j for _, j in segment["alignment"]) == list(range(len(segment["target_words"])))
    assert all(i < 6 for i, _ in segment["alignment"])


async def test_alignment_and_attention_go_together(served: Client) -> None:
    both, alone = [
        await answered(served, text="The cat sees", target="fr", alignment=True, **more)
        for more in ({"attention": True}, {})
    ]
    [segment] = both["translations"][0]["segments"]
    shape = segment.pop("attention")["shape"]
    assert shape == [1, 1, len(segment["target_tokens"]), len(segment["source_tokens"])]
    assert alone["translations"][0]["segments"] == [segment]


async def test_offsets_of_the_target_spell_the_answer(served: Client) -> None:
    answer = await answered(served, text="The cat sees the house", target="fr", attention=True)
    [translation] = answer["translations"]
    [segment] = translation["segments"]
    ends = [0, *(token["end"] for token in segment["target_tokens"])]
    for before, token in zip(ends, segment["target_tokens"], strict=False):
        assert (
            token["start"] == before or token["end"] == before
        )  # adjacent tokens, or bytes of the same character
    assert ends[-1] == len(translation["text"])


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
async def test_every_layer_and_head_as_half_floats(served: Client, kind: str) -> None:
    attention = {"kind": kind, "layers": "all", "heads": "all", "encoding": "base64"}
    answer = await answered(
        served, text="The cat", target="fr", max_target_tokens=5, attention=attention
    )
    as_json = await answered(
        served, text="The cat", target="fr", max_target_tokens=5,
        attention=attention | {"encoding": "json"},
    )  # fmt: skip
    [segment] = answer["translations"][0]["segments"]
    attention = segment["attention"]
    n_source, n_target = len(segment["source_tokens"]), len(segment["target_tokens"])
    rows = n_source if kind == "encoder" else n_target
    columns = n_target if kind == "decoder" else n_source
    assert attention["shape"] == [2, 4, rows, columns]
    assert (attention["layers"], attention["heads"]) == ([0, 1], [0, 1, 2, 3])
    raw = np.frombuffer(base64.b64decode(attention["weights"]), dtype="<f2")
    weights = raw.reshape(attention["shape"]).astype(np.float32)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=2e-3)
    [other] = as_json["translations"][0]["segments"]
    np.testing.assert_allclose(weights, other["attention"]["weights"], atol=1e-3)
    if kind == "decoder":
        assert np.triu(weights[0, 0], k=1).max() == 0


async def test_layers_and_heads_by_index(served: Client) -> None:

    async def weights(**attention: Any) -> Any:
        answer = await answered(
            served, text="The cat", target="fr", max_target_tokens=5, attention=attention
        )
        return np.array(answer["translations"][0]["segments"][0]["attention"]["weights"])

    everything = await weights(layers="all", heads="all")
    chosen = await weights(layers=[0], heads=[3, 1])
    mean = await weights(layers="last", heads="mean")
    np.testing.assert_array_equal(chosen, everything[[0]][:, [3, 1]])
    np.testing.assert_allclose(mean[0, 0], everything[1].mean(axis=0), atol=1e-4)


async def test_the_stages_are_timed(serve: Serve) -> None:
    async with serve(sentence_cache_bytes=0) as client:
        response = await client.post("/translate", json={"text": "cat", "target": "fr"})
    stages = dict(stage.split(";dur=") for stage in response.headers["Server-Timing"].split(", "))
    assert list(stages) == ["queue", "tokenize", "decode", "detokenize"]
    assert float(stages["decode"]) > 0


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/vnd.attend+json",
        "application/x-www-form-urlencoded",  # the Content-Type of `curl -d '{…}'`
        None,
    ],
)
async def test_content_types_of_json(served: Client, content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    response = await served.post(
        "/translate", content=b' {"text": "cat", "target": "fr"}', headers=headers
    )
    assert response.status_code == httpx.codes.OK


async def test_each_sentence_is_translated_as_it_is_alone(served: Client) -> None:
    sentences = ["The house is green.", "Cat?", "The dog"]
    text = "  {}\t{}\n\n- {} 😀\n"
    alone = await answered(served, text=sentences, target="fr", max_target_tokens=8)
    whole = await answered(served, text=text.format(*sentences), target="fr", max_target_tokens=8)
    parts = alone["translations"]
    [translation] = whole["translations"]
    assert translation["text"] == text.format(*(part["text"] for part in parts))
    scores = [part["score"] for part in parts]
    assert min(scores) <= translation["score"] <= max(scores)
    assert translation["flags"] == sorted({flag for part in parts for flag in part["flags"]})
    for count in ("source_tokens", "target_tokens"):
        assert whole["usage"][count] == alone["usage"][count]
    assert whole["usage"]["characters"] == len(text.format(*sentences))


async def test_sentence_boundaries_can_be_chosen(served: Client) -> None:
    async def segments(split: Any, text: str) -> list[str]:
        answer = await answered(
            served, text=text, target="fr", split_sentences=split, max_target_tokens=4,
            attention=True,
        )  # fmt: skip
        [translation] = answer["translations"]
        return [text[slice(*segment["source"])] for segment in translation["segments"]]

    text = "The old\ndog. The cat "
    assert await segments(True, text) == ["The old", "dog.", "The cat"]
    assert await segments("nonewlines", text) == ["The old\ndog.", "The cat"]
    assert await segments(False, text) == ["The old\ndog. The cat"]
    long = "the cat " * 100
    pieces = await segments(False, long)
    assert len(pieces) > 1
    assert " ".join(pieces) == long.strip()


async def test_placeholders_are_restored_and_have_token_spans(served: Client) -> None:
    text = "The cat https://x.org/a {{n}} and %1$s. See <x1/> the dog"
    answer = await answered(
        served, text=text, target="fr", max_target_tokens=12, attention=True, alternatives=1
    )
    [translation] = answer["translations"]
    for given in ("https://x.org/a", "{{n}}", "%1$s", "<x1/>"):
        for translated in (translation["text"], *(x["text"] for x in translation["alternatives"])):
            assert translated.count(given) == 1
    for segment in translation["segments"]:
        start, end = segment["target"]
        for token in segment["target_tokens"]:
            assert start <= token["start"] <= token["end"] <= end
        start, end = segment["source"]
        assert segment["source_tokens"][0]["start"] == start
        assert segment["source_tokens"][-1]["end"] == end


async def test_an_answer_from_memory_is_the_answer(serve: Serve) -> None:
    body = {"text": ["The house is green.", "Cat.", "The house is green."], "alternatives": 1}
    async with serve(sentence_cache_bytes=0) as client:
        searched = await answered(client, target="fr", **body)
    async with serve() as client:
        assert await answered(client, target="fr", **body) == searched
        responses = [
            await client.post("/translate", json={"target": "fr"} | body) for _ in range(20)
        ]
    assert all(response.json() == searched for response in responses)
    timings = "".join(response.headers["Server-Timing"] for response in responses)
    milliseconds = map(float, re.findall(r"decode;dur=([\d.]+)", timings))
    assert min(milliseconds) < 0.1  # during a single one, the thread may be preempted
