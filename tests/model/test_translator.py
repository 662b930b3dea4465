from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import pytest

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Finished, Job
from model.engine.run import WINDOW
from model.errors import InputError, LanguageError
from model.translator import CHUNK, Sentence, Translator, offline_engines

OPTIONS = SearchOptions(beam_size=1, max_target_tokens=5)


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint: Path) -> Checkpoint:
    return load_checkpoint(tiny_checkpoint)


def sentences(
    checkpoint: Checkpoint, max_tokens: int = 128, target: str = "fr"
) -> Callable[[str], Sentence]:
    codec = checkpoint.tokenizer
    return partial(
        Sentence, codec=codec, direction=(None, target), max_tokens=max_tokens, options=OPTIONS
    )


def translator(
    checkpoint: Checkpoint, engines: Sequence[Engine] | None = None, max_tokens: int = 128
) -> Translator[Sentence]:
    return Translator(sentences(checkpoint, max_tokens), engines or offline_engines(checkpoint))


class Watched(EagerEngine):
    """Records the jobs in order of admission; may fail one."""

    def __init__(self, checkpoint: Checkpoint, failing: int | None = None) -> None:
        super().__init__(load_model(checkpoint))
        self.admitted: list[Job] = []
        self._failing = failing

    def admit(self, jobs: Sequence[Job]) -> None:
        self.admitted += jobs
        super().admit(jobs)

    def step(self) -> list[Finished]:
        return [
            Finished(done.job_id, ValueError("lost")) if done.job_id == self._failing else done
            for done in super().step()
        ]


@pytest.mark.parametrize("n_engines", [1, 2])
def test_the_longest_texts_come_first_and_the_order_is_restored(
    checkpoint: Checkpoint, n_engines: int
) -> None:
    engines = [Watched(checkpoint) for _ in range(n_engines)]
    ours = translator(checkpoint, engines)
    texts = ["dog " * (1 + index % 40) for index in range(120)]
    found = [one.hypothesis for one in ours.stream(texts)]
    for engine in engines:
        sizes = [len(job.source_ids) for job in engine.admitted]
        assert len(sizes) > 20
        assert sizes == sorted(sizes, reverse=True)
    for index in (0, 7, 39, 119):
        [alone] = ours.stream([texts[index]])
        together = found[index]
        assert together
        assert alone.hypothesis
        assert together.ids == alone.hypothesis.ids
        assert together.score == pytest.approx(alone.hypothesis.score, rel=1e-4)


def test_empty_texts_are_not_sent_to_the_engine(checkpoint: Checkpoint) -> None:
    engine = Watched(checkpoint)
    blank = ["", " \t", "\u200b"]
    assert [one.translation for one in translator(checkpoint, [engine]).stream(blank)] == blank
    assert engine.admitted == []


def test_an_infinite_stream_keeps_its_order_and_is_read_ahead_in_part(
    checkpoint: Checkpoint,
) -> None:
    words = ("", "dog", "cat dog", "the old cat sees a house")
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        for text in cycle(words):
            read += 1
            yield text

    ours = translator(checkpoint)
    expected = [one.translation for one in ours.stream(words)]
    for done, (found, translation) in enumerate(
        zip(islice(ours.stream(endless()), 3000), cycle(expected), strict=False)
    ):
        assert found.translation == translation
        assert read - done <= CHUNK + WINDOW


def test_everything_before_a_pause_is_yielded_before_more_is_read(checkpoint: Checkpoint) -> None:
    found: list[Sentence] = []

    def texts() -> Iterator[str | None]:
        for n_before in range(3):
            assert len(found) == n_before
            yield f"dog {n_before}"
            yield None

    for sentence in translator(checkpoint).stream(texts()):
        found.append(sentence)  # noqa: PERF402  (the source looks at it meanwhile)
    assert len(found) == 3


def test_the_longest_sentence_fits_and_one_token_more_is_refused(checkpoint: Checkpoint) -> None:
    text = "dog cat"
    length = len(checkpoint.tokenizer.encode_source(text, "fr"))
    sentences(checkpoint, length)(text)
    with pytest.raises(InputError, match=f"^{length} tokens, .* {length - 1}$"):
        sentences(checkpoint, length - 1)(text)


def test_texts_before_one_that_is_refused_are_not_lost(checkpoint: Checkpoint) -> None:
    ours = translator(checkpoint, [EagerEngine(load_model(checkpoint))], max_tokens=20)
    stream = ours.stream(["dog", "", "cat dog", "dog " * 20])
    assert len(list(islice(stream, 3))) == 3
    with pytest.raises(InputError):
        next(stream)


def test_an_unknown_target_is_refused(checkpoint: Checkpoint) -> None:
    with pytest.raises(LanguageError, match="'de'"):
        sentences(checkpoint, target="de")("a")


def test_a_failed_job_raises_its_error(checkpoint: Checkpoint) -> None:
    with pytest.raises(ValueError, match="lost"):
        list(translator(checkpoint, [Watched(checkpoint, failing=1)]).stream(["a", "b"]))
