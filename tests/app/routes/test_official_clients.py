"""Published clients, unchanged, against a real uvicorn."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import deepl
import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from tests.app.fake_engine import FakeEngine
from tests.app.listening import listening

KEY = "0123-abcd"


@pytest.fixture(scope="module")
def url(tiny_checkpoint: Path) -> Iterator[str]:
    with listening(FakeEngine(), tiny_checkpoint) as url:
        yield url


@pytest.fixture(scope="module")
def guarded_url(tiny_checkpoint: Path) -> Iterator[str]:
    limits = {"api_keys": KEY, "character_limit": 30}
    with listening(FakeEngine(), tiny_checkpoint, **limits) as url:
        yield url


def native(url: str, text: str, **fields: Any) -> str:
    response = httpx.post(f"{url}/translate", json={"text": text, "target": "fr"} | fields)
    translated: str = response.json()["translations"][0]["text"]
    return translated


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture
def deepl_client(url: str) -> Iterator[deepl.DeepLClient]:
    with closing(deepl.DeepLClient("any key", server_url=url)) as client:
        yield client


class TestDeepL:
    def test_a_text(self, deepl_client: deepl.DeepLClient, url: str) -> None:
        result = deepl_client.translate_text("the cat", source_lang="EN", target_lang="FR")
        assert isinstance(result, deepl.TextResult)
        assert result.text == native(url, "the cat")
        assert (result.detected_source_lang, result.billed_characters) == ("EN", 7)

    def test_each_text_has_a_detected_language(self, deepl_client: deepl.DeepLClient) -> None:
        texts = ["My sister bought a new house.", "Ma sœur a acheté une nouvelle maison."]
        results = deepl_client.translate_text(texts, target_lang="FR")
        assert isinstance(results, list)
        assert [result.detected_source_lang for result in results] == ["EN", "FR"]
        assert results[1].text == texts[1]

    def test_tags(self, deepl_client: deepl.DeepLClient, url: str) -> None:
        xml = "<r><p>the <i>cat</i></p><k>dog</k></r>"
        result = deepl_client.translate_text(
            xml, source_lang="EN", target_lang="FR", tag_handling="xml", ignore_tags="k,x",
            splitting_tags=["p"], non_splitting_tags=["i"], outline_detection=True,
        )  # fmt: skip
        assert isinstance(result, deepl.TextResult)
        tags = {"ignore_tags": ["k"], "splitting_tags": ["p"], "non_splitting_tags": ["i"]}
        assert result.text == native(url, xml, format="xml", **tags)
        assert "<k>dog</k>" in result.text

    def test_options_without_effect(self, deepl_client: deepl.DeepLClient, url: str) -> None:
        result = deepl_client.translate_text(
            "the cat", source_lang="EN", target_lang="FR", context="pets",
            split_sentences=deepl.SplitSentences.ALL, preserve_formatting=True,
            formality=deepl.Formality.PREFER_LESS, model_type="quality_optimized",
            tag_handling="html", tag_handling_version="v2",
        )  # fmt: skip
        assert isinstance(result, deepl.TextResult)
        assert result.text == native(url, "the cat")

    def test_usage_without_a_limit(self, deepl_client: deepl.DeepLClient) -> None:
        before = deepl_client.get_usage().character
        deepl_client.translate_text("the cat", source_lang="EN", target_lang="FR")
        after = deepl_client.get_usage()
        assert before.count is not None
        assert after.character.count == before.count + 7
        assert after.character.valid
        assert not after.any_limit_reached

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"target_lang": "DE"}, "Bad request, message: target_lang: not supported"),
            ({"formality": "more"}, "Bad request, message: formality: "),
            ({"style_rule": "x"}, "Bad request, message: style_id: Not supported"),
            ({"tag_handling": "xml", "text": "a < b"}, "Bad request, message: text: Text 0 is"),
        ],
    )
    def test_what_is_refused(
        self, deepl_client: deepl.DeepLClient, options: dict[str, Any], message: str
    ) -> None:
        arguments: dict[str, Any] = {"text": "cat", "source_lang": "EN", "target_lang": "FR"}
        with pytest.raises(deepl.DeepLException) as refused:
            deepl_client.translate_text(**arguments | options)
        assert str(refused.value).startswith(message)
        assert refused.value.http_status_code == 400

    def test_a_text_that_is_too_long(self, deepl_client: deepl.DeepLClient) -> None:
        with pytest.raises(deepl.DeepLException, match="250,000 characters") as refused:
            deepl_client.translate_text("a " * 130_000, source_lang="EN", target_lang="FR")
        assert refused.value.http_status_code == 413

    def test_keys_and_quota(self, guarded_url: str) -> None:
        with (
            closing(deepl.DeepLClient("wrong", server_url=guarded_url)) as wrong,
            closing(deepl.DeepLClient(KEY, server_url=guarded_url)) as right,
        ):
            with pytest.raises(deepl.AuthorizationException):
                wrong.translate_text("the cat", source_lang="EN", target_lang="FR")
            with pytest.raises(deepl.AuthorizationException):
                wrong.get_usage()
            right.translate_text("the cat" * 4, source_lang="EN", target_lang="FR")
            with pytest.raises(deepl.QuotaExceededException, match="28 of the 30 characters"):
                right.translate_text("the cat", source_lang="EN", target_lang="FR")
            right.translate_text("ca", source_lang="EN", target_lang="FR")
            usage = right.get_usage()
        assert (usage.character.count, usage.character.limit) == (30, 30)
        assert usage.any_limit_reached

    def test_retries_when_the_queue_is_full(self, tiny_checkpoint: Path) -> None:
        engine = FakeEngine(gate=threading.Semaphore(1))  # one step, for the warm-up
        with listening(engine, tiny_checkpoint, max_concurrent_requests=1) as url:
            occupied = _occupy(url, engine)
            refused = httpx.post(f"{url}/v2/translate", json={"text": "a", "target_lang": "FR"})
            assert refused.status_code == httpx.codes.TOO_MANY_REQUESTS
            threading.Timer(0.3, engine.release, [10]).start()
            with closing(deepl.DeepLClient("any key", server_url=url)) as client:
                result = client.translate_text("the cat", source_lang="EN", target_lang="FR")
            occupied.join()
            assert isinstance(result, deepl.TextResult)
            assert result.text == native(url, "the cat")

    @pytest.mark.usefixtures("no_retries")
    def test_a_deadline_is_a_service_that_is_unavailable(self, tiny_checkpoint: Path) -> None:
        with (
            _waiting_server(tiny_checkpoint, request_timeout=0.1) as (_, url),
            closing(deepl.DeepLClient("any key", server_url=url)) as client,
            pytest.raises(deepl.DeepLException, match="Service unavailable") as failed,
        ):
            client.translate_text("the cat", source_lang="EN", target_lang="FR")
        assert failed.value.should_retry

    def test_unsupported_functions(self, deepl_client: deepl.DeepLClient) -> None:
        with pytest.raises(deepl.DeepLException, match="does not support improving texts"):
            deepl_client.rephrase_text("cat")


@contextmanager
def _waiting_server(checkpoint: Path, **settings: Any) -> Iterator[tuple[FakeEngine, str]]:
    """A server whose engine waits after the step of the warm-up."""
    engine = FakeEngine(gate=threading.Semaphore(1))
    with listening(engine, checkpoint, **settings) as url:
        try:
            yield engine, url
        finally:
            engine.release(10)


def _occupy(url: str, engine: FakeEngine) -> threading.Thread:
    """Take the only slot, until the engine's gate opens."""
    engine.in_step.clear()
    body = {"text": "cat", "target": "fr"}
    thread = threading.Thread(
        target=httpx.post, args=[f"{url}/translate"], kwargs={"json": body, "timeout": 20}
    )
    thread.start()
    assert engine.in_step.wait(60)
    return thread


class TestLibreTranslate:
    def test_a_text(self, url: str) -> None:
        client = LibreTranslateAPI(url)
        text = "the cat & the dog, 100 % ☃"
        assert client.translate(text, "en", "fr") == native(url, text)

    def test_the_language_is_found_out(self, url: str) -> None:
        client = LibreTranslateAPI(url)
        text = "My sister bought a new house."
        assert client.translate(text, "auto", "fr") == native(url, text)
        best, *_ = client.detect(text)
        assert best["language"] == "en"
        assert 50 < best["confidence"] <= 100

    def test_languages(self, url: str, guarded_url: str) -> None:
        expected = [
            {"code": "en", "name": "English", "targets": ["fr"]},
            {"code": "fr", "name": "French", "targets": ["en"]},
        ]
        assert LibreTranslateAPI(url).languages() == expected
        assert LibreTranslateAPI(guarded_url, KEY).languages() == expected

    def test_keys(self, guarded_url: str) -> None:
        for key, status, message in (
            ("wrong", 403, "the API key is unknown"),
            (None, 400, "an API key is required"),
        ):
            with pytest.raises(HTTPError) as refused:
                LibreTranslateAPI(guarded_url, key).translate("cat", "en", "fr")
            with refused.value as error:
                assert error.code == status
                assert json.load(error) == {"error": message}
        assert LibreTranslateAPI(guarded_url, KEY).detect("1") == [
            {"confidence": 0, "language": "en"}
        ]
