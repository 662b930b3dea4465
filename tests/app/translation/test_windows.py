"""Long texts and lists are translated a window at a time, with the answers of the whole."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from app import loading
from app.translation import block, windows
from app.translation.block import Block
from app.translation.segments import layout
from app.translation.segments.reading import Reading
from model.decoding.hypothesis import SearchOptions
from model.text.tokenizer import Tokenizer
from tests.app.asking import answered, scheduler
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.translation.segments.test_segmented_text import hypothesis_of
from tests.app.waiting import until

SENTENCES = "The old cat sees {name}. The dog sleeps.\n- A house 12, привет! 😀 The cat.\n" * 3
PAGE = "<p>The <b>old</b> cat sees. The dog <i>sleeps</i>. A house. The cat <b>12</b>.</p>" * 3


def with_small_windows(patch: pytest.MonkeyPatch) -> None:
    for module in (layout, windows):
        patch.setattr(module, "PART_SENTENCES", 2)


@pytest.mark.parametrize(
    "body",
    [
        {"text": SENTENCES},
        {"text": [SENTENCES, "", "A house.", "12", *["The dog."] * 20]},
        {"text": SENTENCES, "alignment": True},
        {"text": SENTENCES, "attention": True, "alignment": True},
        {"text": PAGE, "format": "html"},
        {"text": PAGE, "format": "xml", "splitting_tags": []},
        {"text": SENTENCES, "glossary": {"old cat": "matou", "dog": "chien"}},
        {"text": "Le chat. Un chien dort. La maison 12.", "source": "fr", "target": "de"},
        {"text": PAGE, "format": "html", "source": "fr", "target": "de"},
        {"text": "Привет, мир! Как дела? The dog."},
    ],
)
async def test_the_answer_is_that_of_the_whole(
    serve: Serve,
    row_of_checkpoints: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    body: dict[str, Any],
) -> None:
    fields = {"source": "en", "target": "fr", "beam_size": 1} | body
    async with serve(FakeEngine(), FakeEngine(), checkpoint=row_of_checkpoints) as client:
        whole = await answered(client, **fields)
        with_small_windows(monkeypatch)
        in_windows = await answered(client, **fields)
        assert in_windows["usage"] == whole["usage"]
        for one, other in zip(in_windows["translations"], whole["translations"], strict=True):
            numbers = {"score", "confidence"}
            assert {key: one[key] for key in one if key not in numbers} == {
                key: other[key] for key in other if key not in numbers
            }
            assert [one[key] for key in numbers] == pytest.approx([other[key] for key in numbers])


async def test_a_stream_is_that_of_the_whole(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(FakeEngine()) as client:

        async def events() -> tuple[str, list[str]]:
            body = {"text": SENTENCES, "target": "fr", "stream": True, "beam_size": 1}
            found = (await client.post("/translate", json=body)).text.split("\n\n")
            named = [one.removeprefix("event: ").split("\ndata: ") for one in found if one]
            tokens = [json.loads(data)["text"] for name, data in named if name == "token"]
            *_, (last, done) = named
            assert last == "done"
            assert "".join(tokens) == json.loads(done)["translations"][0]["text"]
            return "".join(tokens), [data for name, data in named if name == "segment"]

        whole = await events()
        with_small_windows(monkeypatch)
        assert await events() == whole
        assert len(whole[1]) > 10


async def test_few_segments_of_a_long_text_are_in_memory(serve: Serve) -> None:
    """Two windows are queued; others are read when these are translated."""
    engine = FakeEngine(gate=threading.Semaphore(1), n_slots=1)
    async with serve(engine, sentence_cache_bytes=0) as client:
        text = "".join(f"The cat {n}.\n" for n in range(1000))
        task = asyncio.create_task(answered(client, text=text, target="fr", beam_size=1))
        load = scheduler(client)
        await until(lambda: load.load.waiting + load.load.in_flight >= 2 * layout.PART_SENTENCES)
        assert load.load.waiting + load.load.in_flight == 2 * layout.PART_SENTENCES
        engine.release(100_000)
        engine.n_slots = 1000
        answer = await task
    assert answer["translations"][0]["text"].count("\n") == 1000


async def test_refused_texts_are_not_read(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_QUEUE_TOKENS", 5000)
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, sentence_cache_bytes=0) as client:
        load = scheduler(client)
        body = {"text": "The cat sees the dog.\n" * 600, "target": "fr", "beam_size": 1}
        first = asyncio.create_task(client.post("/translate", json=body))
        await until(lambda: load.load.waiting + load.load.in_flight > 100)
        monkeypatch.setattr(block, "parts_of", None)
        refused = await client.post("/translate", json=body | {"text": str(body["text"]) * 4})
        assert refused.status_code == 429
        monkeypatch.undo()
        engine.release(100_000)
        assert (await first).status_code == 200


def test_parts_are_joined_by_rank() -> None:
    one = Block("12", start=0, answers=["a", "b"], scores=[-1.0, -2.0], n_source_tokens=3,
                n_target_tokens=1, log_prob=-1.0, flags=["numbers"], words=(1, 1))  # fmt: skip
    other = Block("34", start=2, answers=["c"], scores=[-4.0], n_source_tokens=3,
                  n_target_tokens=3, log_prob=-12.0, words=(4, 0))  # fmt: skip
    whole = Block("1234", parts=[one, other])
    whole.finish()
    assert whole.answers == ["ac", "bc"]
    assert [*whole.scores] == pytest.approx([-3.25, -3.5])
    assert (whole.n_source_tokens, whole.n_target_tokens) == (6, 4)
    assert whole.log_prob == -13.0
    assert whole.flags == ["copied_source", "numbers"]  # the model read one of five words


def test_the_next_model_reads_the_sentences_that_the_one_before_has_written(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = Tokenizer.load(tiny_checkpoint / "sentencepiece.model")
    reading = Reading(codec, ("en", "fr"), 60, SearchOptions())
    texts = {"The dog.": "Le 1. Chat. Old", "A cat.": "The. A.", "Old": "old", "House": "2 {x}"}
    for n_sentences in (64, 1):
        monkeypatch.setattr(layout, "PART_SENTENCES", n_sentences)
        first = Block("The dog. A cat.\n\n- Old\nHouse")
        for part, text in first.read(reading, streams=False):
            while pending := text.pending():
                for segment in pending:
                    segment.settle([hypothesis_of(texts[segment.stand_ins.text], codec)])
            part.keep(text, 1)
        first.finish()
        assert first.answers == ["Le 1. Chat. Old The. A.\n\n- old\n2 {x}"]
        read = [
            text.text[segment.span.start : segment.span.end]
            for _, text in first.following().read(reading, streams=False)
            for segment in text.segments
        ]
        # Not split again; segments without letters are not read.
        assert read == ["Le 1. Chat. Old", "The. A.", "old"]
