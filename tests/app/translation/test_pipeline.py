import asyncio
import threading
from collections.abc import Iterator, Mapping

import httpx
import pytest

from app.text import glossary
from app.translation.windows import MAX_INLINE_CHARACTERS, MAX_INTERACTIVE_SEGMENTS
from model.text.tokenizer import Tokenizer
from tests.app.asking import scheduler
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.waiting import until


@pytest.mark.parametrize(
    ("n_texts", "bulk"), [(MAX_INTERACTIVE_SEGMENTS, False), (MAX_INTERACTIVE_SEGMENTS + 1, True)]
)
async def test_a_long_list_waits_in_the_bulk_lane(serve: Serve, n_texts: int, bulk: bool) -> None:
    engine = FakeEngine(n_slots=1, gate=threading.Semaphore(1))  # one step, for the warm-up
    async with serve(engine, sentence_cache_bytes=0) as client:

        async def ask(texts: list[str]) -> httpx.Response:
            return await client.post("/translate", json={"text": texts, "target": "fr"})

        first = asyncio.create_task(ask(["cat"]))
        await until(lambda: scheduler(client).load.in_flight == 1)
        many = asyncio.create_task(ask(["the house is nice today and the cat is green"] * n_texts))
        await until(lambda: scheduler(client).load.waiting == n_texts)
        single = asyncio.create_task(ask(["dog"]))
        await until(lambda: scheduler(client).load.waiting == n_texts + 1)
        engine.release(1000)
        answers = await asyncio.gather(first, many, single)
    assert {answer.status_code for answer in answers} == {200}
    names = [
        name for batch in engine.admitted[2:] for name in batch
    ]  # without the warm-up and the first
    [place] = [index for index, name in enumerate(names) if names.count(name) == 1]
    assert (place == 0) == bulk  # in the same lane it waits for the list's first turn


@pytest.mark.parametrize("n_characters", [MAX_INLINE_CHARACTERS, MAX_INLINE_CHARACTERS + 1])
async def test_long_texts_are_tokenised_outside_the_event_loop(
    serve: Serve, n_characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(FakeEngine()) as client:
        tokenised_in: list[threading.Thread] = []
        source_ids = Tokenizer.source_ids

        def note(codec: Tokenizer, text: str, *languages: str) -> list[int]:
            tokenised_in.append(threading.current_thread())
            return source_ids(codec, text, *languages)

        monkeypatch.setattr(Tokenizer, "source_ids", note)
        texts = ["cat " * (n_characters // 40) for _ in range(10)]
        texts[0] += "." * (n_characters - sum(map(len, texts)))
        response = await client.post("/translate", json={"text": texts, "target": "fr"})
        assert response.status_code == 200
    inline = {*tokenised_in} == {threading.current_thread()}
    assert inline == (n_characters <= MAX_INLINE_CHARACTERS)


@pytest.mark.parametrize(
    ("path", "field"),
    [("/translate", "json"), ("/explain", "json"), ("/translate", "terms"), ("/v2/document", "")],
)
async def test_large_glossaries_are_read_outside_the_event_loop(
    serve: Serve, path: str, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are always processed in threads."""
    read_in: list[threading.Thread] = []
    words = glossary._words

    def note(text: str) -> Iterator[glossary._Word]:
        if text.startswith("term"):
            read_in.append(threading.current_thread())
        return words(text)

    monkeypatch.setattr(glossary, "_words", note)
    async with serve(FakeEngine()) as client:
        for n_terms in (1, MAX_INLINE_CHARACTERS):
            read_in.clear()
            terms = {f"term {index}": "b" for index in range(n_terms)}
            if path == "/v2/document":
                await translated_document(client, terms)
            else:
                own = {"do_not_translate": [*terms]} if field == "terms" else {"glossary": terms}
                body = {"text": "a cat", "target": "fr"} | own
                response = await client.post(path, json=body)
                assert response.status_code == 200, response.text
            assert len(read_in) == n_terms
            inline = {*read_in} == {threading.current_thread()}
            assert inline == (n_terms == 1 and path != "/v2/document")


async def translated_document(client: httpx.AsyncClient, terms: Mapping[str, str]) -> None:
    """Have a document translated with a stored glossary."""
    entries = "\n".join(f"{source}\t{target}" for source, target in terms.items())
    stored = {"source_lang": "en", "target_lang": "fr", "entries": entries, "entries_format": "tsv"}
    made = (await client.post("/v2/glossaries", json={"name": "a"} | stored)).json()
    form = {"source_lang": "EN", "target_lang": "FR", "glossary_id": made["glossary_id"]}
    files = {"file": ("a.txt", b"A cat.")}
    handle = (await client.post("/v2/document", data=form, files=files)).json()
    address, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    status = ""
    while status != "done":
        status = (await client.post(address, json=key)).json()["status"]
        assert status != "error"


async def test_large_requests_are_at_work_one_after_the_other(serve: Serve) -> None:
    """Only one is in memory at a time; small requests do not wait for them."""
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(
        engine, sentence_cache_bytes=0, max_text_characters=6400, request_timeout=60
    ) as client:

        def n_known() -> int:
            load = scheduler(client).load
            return load.waiting + load.in_flight

        async def ask(text: str, **headers: str) -> httpx.Response:
            body = {"text": text, "target": "fr"}
            return await client.post("/translate", json=body, headers=headers)

        first = asyncio.create_task(ask("cat " * 1500))
        await until(lambda: n_known() > 0)
        n_first = n_known()
        second = asyncio.create_task(ask("dog " * 1500))
        late = asyncio.create_task(ask("dog " * 1500, **{"X-Request-Timeout": "0.3"}))
        assert (await late).status_code == httpx.codes.GATEWAY_TIMEOUT
        assert n_known() == n_first
        engine.release(1_000_000)
        answers = await asyncio.gather(first, second)
    assert {answer.status_code for answer in answers} == {200}
