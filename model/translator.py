"""Translates many sentences with engines, from a list or a stream of any length.

For programs that have all sentences available; a server schedules requests instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
"""Source tokens per batch of the torch engine, including padding."""

CHUNK = 512
"""Sentences per chunk that is sorted by length."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one sentence.

    score      length-normalised log-probability, by which the search ranks; 0 without a search
    token_ids  target tokens without the end-of-sentence token, and `tokens`, their pieces
    capped     truncated by the token limit
    """

    text: str
    score: float
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    capped: bool


class SentenceTooLongError(InputError):
    """A sentence has more tokens than the model reads; `index` is its index in the input."""

    def __init__(self, index: int, n_tokens: int, limit: int) -> None:
        super().__init__(f"{n_tokens} tokens, the model reads at most {limit}")
        self.index = index


class Translator:
    """Translates sentences. A sentence with nothing to translate is returned unchanged.

    `texts` may be infinite: a bounded number is held at a time. A None in it announces a possible
    wait, so all preceding translations are yielded first; it does not count as a text. Raises
    `SentenceTooLongError`, and `LanguageError` for a target without a symbol in the vocabulary;
    these and errors of `texts` are raised after all preceding translations are yielded, errors of
    an engine at once. A model that reads the source's language, such as M2M-100, needs `source`.
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
        devices: Sequence[str] = ("cpu",),
    ) -> Self:
        """Use the same engines as the server, by default on all cores."""
        max_length = checkpoint.config.transformer.max_length
        engines = build_engines(
            checkpoint, precision, n_threads or usable_cores(), BATCH_TOKENS, devices
        )
        return cls(checkpoint.tokenizer, max_length, engines)

    def translate(
        self, texts: Sequence[str], target: str, options: SearchOptions, source: str | None = None
    ) -> list[Translation]:
        """Return the translations, in the order of the texts."""
        return list(self.translate_stream(texts, target, options, source))

    def translate_stream(
        self,
        texts: Iterable[str | None],
        target: str,
        options: SearchOptions,
        source: str | None = None,
    ) -> Iterator[Translation]:
        """Yield the translations in the order of the texts, each as early as possible."""
        ahead: dict[int, Translation] = {}
        due = 0
        for index, translation in self.translate_as_ready(texts, target, options, source):
            ahead[index] = translation
            while due in ahead:
                yield ahead.pop(due)
                due += 1

    def translate_as_ready(
        self,
        texts: Iterable[str | None],
        target: str,
        options: SearchOptions,
        source: str | None = None,
    ) -> Iterator[tuple[int, Translation]]:
        """Yield (index, translation) of each text, as they finish."""
        blank: dict[int, str] = {}
        options = replace(options, first_id=self._tokenizer.first_id(target))
        items = longest_first(self._items(texts, (source, target), options, blank))
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
        direction: tuple[str | None, str],
        options: SearchOptions,
        blank: dict[int, str],
    ) -> Iterator[Item]:
        """Yield a job per text, or no hypotheses for a text that is put into `blank`."""
        source, target = direction
        index = 0
        for text in texts:
            if text is None:
                yield None
                continue
            ids = tuple(self._tokenizer.source_ids(text, target, source))
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
    """Sort by length in chunks that end at a None, so that batches have little padding.

    An error of `items` is raised after the preceding items are yielded.
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
