"""Text in, text out: many sentences over engines, from a list or a stream of any length.

For programs that have all their sentences at hand; a server schedules requests instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from model.checkpoint.reader import Checkpoint
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.build import build_engines
from model.engine.device import usable_cores
from model.engine.protocol import Engine, Finished, Job, PrecisionChoice
from model.engine.run import Item, run_jobs
from model.errors import InputError
from model.text.text_codec import TextCodec

BATCH_TOKENS = 2048
"""Source tokens in one batch of the eager engine, padding included."""

CHUNK = 512
"""Sentences among which those of like length are put next to each other."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One sentence translated.

    score      what the search ranked by, a length-normalised log-probability; 0 without a search
    token_ids  target tokens without the end-of-sentence token, and `tokens`, their pieces
    capped     the token limit cut it short
    """

    text: str
    score: float
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    capped: bool


class SentenceTooLongError(InputError):
    """More tokens than the model reads; `index` is the sentence's place among those given."""

    def __init__(self, index: int, n_tokens: int, limit: int) -> None:
        super().__init__(f"{n_tokens} tokens, the model reads at most {limit}")
        self.index = index


class Translator:
    """Translates sentences. One without anything to translate stays as it is.

    `texts` may have no end: a bounded number of them is held at a time. A None among them says that
    the next one may be long in coming, so everything before it is handed out first; it counts as no
    text. Raises `LanguageError` for a target that the vocabulary has no symbol for and
    `SentenceTooLongError`, these and errors of `texts` once everything before is handed out; and at
    once the error that a sentence died of.
    """

    def __init__(self, tokenizer: TextCodec, max_length: int, engines: Sequence[Engine]) -> None:
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._engines = engines

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        precision: PrecisionChoice = "auto",
        n_threads: int | None = None,
        device: str = "cpu",
    ) -> Self:
        """Over the engines that serve it too, on all cores unless `n_threads` says otherwise."""
        max_length = checkpoint.config.transformer.max_length
        engines = build_engines(
            checkpoint, precision, n_threads or usable_cores(), BATCH_TOKENS, device
        )
        return cls(checkpoint.tokenizer, max_length, engines)

    def translate(
        self, texts: Sequence[str], target: str, options: SearchOptions
    ) -> list[Translation]:
        """A translation of every text, in their order."""
        return list(self.translate_stream(texts, target, options))

    def translate_stream(
        self, texts: Iterable[str | None], target: str, options: SearchOptions
    ) -> Iterator[Translation]:
        """A translation of every text, in their order, each as soon as those before it are out."""
        ahead: dict[int, Translation] = {}
        due = 0
        for index, translation in self.translate_as_ready(texts, target, options):
            ahead[index] = translation
            while due in ahead:
                yield ahead.pop(due)
                due += 1

    def translate_as_ready(
        self, texts: Iterable[str | None], target: str, options: SearchOptions
    ) -> Iterator[tuple[int, Translation]]:
        """(index, translation) of every text, as they come."""
        blank: dict[int, str] = {}
        items = longest_first(self._items(texts, target, options, blank))
        for index, outcome in run_jobs(self._engines, items):
            if isinstance(outcome, Exception):
                raise outcome
            if outcome:
                yield index, self._translation(outcome[0])
            else:
                yield index, Translation(blank.pop(index), 0.0, (), (), capped=False)

    def _items(
        self,
        texts: Iterable[str | None],
        target: str,
        options: SearchOptions,
        blank: dict[int, str],
    ) -> Iterator[Item]:
        """A job for every text, or no hypotheses for one that is put into `blank`."""
        index = 0
        for text in texts:
            if text is None:
                yield None
                continue
            ids = tuple(self._tokenizer.source_ids(text, target))
            if len(ids) > self._max_length:
                raise SentenceTooLongError(index, len(ids), self._max_length)
            if text.isspace() or len(ids) == self._tokenizer.n_control_tokens:
                blank[index] = text
                yield Finished(index, [])
            else:
                yield Job(index, ids, options)
            index += 1

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=self._tokenizer.decode(hypothesis.ids),
            score=hypothesis.score,
            token_ids=hypothesis.ids,
            tokens=tuple(self._tokenizer.piece(token_id) for token_id in hypothesis.ids),
            capped=hypothesis.capped,
        )


def longest_first(items: Iterator[Item]) -> Iterator[Item]:
    """Sorted by length in chunks that end at a None, so that batches have little padding.

    An error of `items` comes after what came before it.
    """
    more = True
    while more:
        chunk: list[Job | Finished] = []
        failure: Exception | None = None
        paused = False
        try:
            for item in islice(items, CHUNK):
                if item is None:
                    paused = True
                    break
                chunk.append(item)
        except Exception as error:
            failure = error
        more = paused or len(chunk) == CHUNK
        yield from sorted(chunk, key=_n_source_tokens, reverse=True)
        if failure is not None:
            raise failure
        if paused:
            yield None


def _n_source_tokens(item: Job | Finished) -> int:
    return len(item.source_ids) if isinstance(item, Job) else 0
