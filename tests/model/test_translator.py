from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from model.checkpoint import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Finished, Job
from model.errors import LanguageError
from model.translator import BATCH_TOKENS, SentenceTooLongError, Translator

GREEDY = SearchOptions(beam_size=1, max_target_tokens=5)


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint: Path) -> Checkpoint:
    return load_checkpoint(tiny_checkpoint)


class Watched(EagerEngine):
    """Keeps what joined before each step; may fail one job."""

    def __init__(self, checkpoint: Checkpoint, failing: int | None = None) -> None:
        super().__init__(checkpoint.model, BATCH_TOKENS)
        self.batches: list[list[Job]] = []
        self._joining: list[Job] = []
        self._failing = failing

    def admit(self, jobs: Sequence[Job]) -> None:
        self._joining += jobs
        super().admit(jobs)

    def step(self) -> list[Finished]:
        self.batches.append(self._joining)
        self._joining = []
        return [
            Finished(done.job_id, ValueError("lost")) if done.job_id == self._failing else done
            for done in super().step()
        ]


def test_batches_hold_alike_lengths_and_a_bounded_number_of_tokens(checkpoint: Checkpoint) -> None:
    engine = Watched(checkpoint)
    translator = Translator(checkpoint.tokenizer, 128, engine)
    texts = ["dog " * (1 + index % 40) for index in range(120)]
    translations = translator.translate(texts, "fr", GREEDY)
    sizes = [[len(job.source_ids) for job in batch] for batch in engine.batches]
    assert len(sizes) > 1
    assert all(len(batch) * max(batch) <= BATCH_TOKENS for batch in sizes)
    in_order = [size for batch in sizes for size in batch]
    assert in_order == sorted(in_order, reverse=True)
    for index in (0, 7, 39, 119):  # the order is restored
        (alone,) = translator.translate([texts[index]], "fr", GREEDY)
        assert translations[index].token_ids == alone.token_ids
        assert translations[index].score == pytest.approx(alone.score, rel=1e-4)


def test_nothing_is_sent_to_the_engine_for_empty_texts(checkpoint: Checkpoint) -> None:
    engine = Watched(checkpoint)
    translations = Translator(checkpoint.tokenizer, 128, engine).translate(
        ["", " \t", "\u200b"], "fr", GREEDY
    )
    assert [translation.text for translation in translations] == ["", " \t", "\u200b"]
    assert engine.batches == []


def test_the_longest_sentence_fits_and_one_token_more_is_refused_by_its_index(
    checkpoint: Checkpoint,
) -> None:
    text = "dog cat"
    length = len(checkpoint.tokenizer.encode_source(text, "fr"))
    engine = Watched(checkpoint)
    Translator(checkpoint.tokenizer, length, engine).translate([text], "fr", GREEDY)
    with pytest.raises(SentenceTooLongError, match=f"^{length} tokens, .* {length - 1}$") as caught:
        Translator(checkpoint.tokenizer, length - 1, engine).translate(["", text], "fr", GREEDY)
    assert caught.value.index == 1


def test_an_unknown_target_is_refused(checkpoint: Checkpoint) -> None:
    with pytest.raises(LanguageError, match="'de'"):
        Translator.from_checkpoint(checkpoint).translate(["a"], "de", GREEDY)


def test_a_job_that_failed_raises_its_error(checkpoint: Checkpoint) -> None:
    engine = Watched(checkpoint, failing=1)
    translator = Translator(checkpoint.tokenizer, 128, engine)
    with pytest.raises(ValueError, match="lost"):
        translator.translate(["a", "b"], "fr", GREEDY)
    assert not engine.busy
