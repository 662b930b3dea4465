from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import pytest

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Finished, Job
from model.engine.run import WINDOW
from model.errors import LanguageError
from model.translator import BATCH_TOKENS, CHUNK, SentenceTooLongError, Translation, Translator

GREEDY = SearchOptions(beam_size=1, max_target_tokens=5)


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint: Path) -> Checkpoint:
    return load_checkpoint(tiny_checkpoint)


class Watched(EagerEngine):
    """Keeps the batches that it worked on; may fail one job."""

    def __init__(self, checkpoint: Checkpoint, failing: int | None = None) -> None:
        super().__init__(load_model(checkpoint), BATCH_TOKENS)
        self.batches: list[list[Job]] = [[]]
        self._failing = failing

    def admit(self, jobs: Sequence[Job]) -> None:
        self.batches[-1] += jobs
        super().admit(jobs)

    def step(self) -> list[Finished]:
        self.batches.append([])
        return [
            Finished(done.job_id, ValueError("lost")) if done.job_id == self._failing else done
            for done in super().step()
        ]


@pytest.mark.parametrize("n_engines", [1, 2])
def test_batches_hold_alike_lengths_and_a_bounded_number_of_tokens(
    checkpoint: Checkpoint, n_engines: int
) -> None:
    engines = [Watched(checkpoint) for _ in range(n_engines)]
    translator = Translator(checkpoint.tokenizer, 128, engines)
    texts = ["dog " * (1 + index % 40) for index in range(120)]
    translations = translator.translate(texts, "fr", GREEDY)
    for engine in engines:
        sizes = [[len(job.source_ids) for job in batch] for batch in engine.batches]
        assert sum(map(len, sizes)) > 20
        assert all(len(batch) * max(batch) <= BATCH_TOKENS for batch in sizes if batch)
        in_order = [size for batch in sizes for size in batch]
        assert in_order == sorted(in_order, reverse=True)
    for index in (0, 7, 39, 119):  # the order is restored
        (alone,) = translator.translate([texts[index]], "fr", GREEDY)
        assert translations[index].token_ids == alone.token_ids
        assert translations[index].score == pytest.approx(alone.score, rel=1e-4)


def test_nothing_is_sent_to_the_engine_for_empty_texts(checkpoint: Checkpoint) -> None:
    engine = Watched(checkpoint)
    translations = Translator(checkpoint.tokenizer, 128, [engine]).translate(
        ["", " \t", "\u200b"], "fr", GREEDY
    )
    assert [translation.text for translation in translations] == ["", " \t", "\u200b"]
    assert engine.batches == [[]]


def test_a_stream_without_end_is_translated_in_order_and_read_no_further_than_a_bound(
    checkpoint: Checkpoint,
) -> None:
    words = ("", "dog", "cat dog", "the old cat sees a house")
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        for text in cycle(words):
            read += 1
            yield text

    translator = Translator.from_checkpoint(checkpoint)
    expected = translator.translate(words, "fr", GREEDY)
    stream = translator.translate_stream(endless(), "fr", GREEDY)
    for done, (found, wanted) in enumerate(
        zip(islice(stream, 3000), cycle(expected), strict=False)
    ):
        assert (found.token_ids, found.text) == (wanted.token_ids, wanted.text)
        assert read - done <= CHUNK + WINDOW


def test_all_before_a_pause_is_handed_out_before_the_next_text_is_asked_for(
    checkpoint: Checkpoint,
) -> None:
    found: list[Translation] = []

    def texts() -> Iterator[str | None]:
        for n_before in range(3):
            assert len(found) == n_before
            yield f"dog {n_before}"
            yield None

    translator = Translator.from_checkpoint(checkpoint)
    for translation in translator.translate_stream(texts(), "fr", GREEDY):
        found.append(translation)  # noqa: PERF402  (the source looks at it meanwhile)
    assert len(found) == 3


def test_the_longest_sentence_fits_and_one_token_more_is_refused_by_its_index(
    checkpoint: Checkpoint,
) -> None:
    text = "dog cat"
    length = len(checkpoint.tokenizer.encode_source(text, "fr"))
    engine = Watched(checkpoint)
    Translator(checkpoint.tokenizer, length, [engine]).translate([text], "fr", GREEDY)
    with pytest.raises(SentenceTooLongError, match=f"^{length} tokens, .* {length - 1}$") as caught:
        Translator(checkpoint.tokenizer, length - 1, [engine]).translate(["", text], "fr", GREEDY)
    assert caught.value.index == 1


def test_what_comes_before_a_text_that_cannot_be_is_not_lost(checkpoint: Checkpoint) -> None:
    translator = Translator(checkpoint.tokenizer, 20, [EagerEngine(load_model(checkpoint))])
    stream = translator.translate_stream(["dog", "", "cat dog", "dog " * 20], "fr", GREEDY)
    assert len(list(islice(stream, 3))) == 3
    with pytest.raises(SentenceTooLongError):
        next(stream)


def test_an_unknown_target_is_refused(checkpoint: Checkpoint) -> None:
    with pytest.raises(LanguageError, match="'de'"):
        Translator.from_checkpoint(checkpoint).translate(["a"], "de", GREEDY)


def test_a_job_that_failed_raises_its_error(checkpoint: Checkpoint) -> None:
    translator = Translator(checkpoint.tokenizer, 128, [Watched(checkpoint, failing=1)])
    with pytest.raises(ValueError, match="lost"):
        translator.translate(["a", "b"], "fr", GREEDY)
