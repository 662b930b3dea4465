"""Translates a stream of texts with engines, in order and in constant memory.

For programs that have their texts at hand; a server schedules requests instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Generic, Protocol, TypeVar

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
"""Searches per chunk that is sorted by length."""


class Search(Protocol):
    """A search for the translation of a text or of a part of it."""

    source_ids: Sequence[int]
    options: SearchOptions

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Receive the result, best first."""


class Translatable(Protocol):
    """A text to translate."""

    def pending(self) -> Sequence[Search]:
        """Return the next searches, once all before are settled; none if it is translated."""


T = TypeVar("T", bound=Translatable)


@dataclass(eq=False, slots=True)
class _Entry(Generic[T]):
    """A text in progress, and its number of unfinished searches."""

    text: T
    n_open: int


class Translator(Generic[T]):
    """Translates any number of texts, and holds a bounded number of them at a time.

    read  makes a string a text
    """

    def __init__(self, read: Callable[[str], T], engines: Sequence[Engine]) -> None:
        self._read = read
        self._engines = engines

    def stream(self, texts: Iterable[str | None]) -> Iterator[T]:
        """Yield every text, translated, in order and as early as possible.

        A None announces a possible wait, so everything before it is yielded first. Raises an error
        of a search at once, and one of `texts` or of `read` after everything before is yielded.
        """
        run = _Run(self._read, texts)
        for job_id, outcome in run_jobs(self._engines, longest_first(run.items())):
            if isinstance(outcome, Exception):
                raise outcome
            if outcome:
                run.settle(job_id, outcome)
            yield from run.translated()
        yield from run.translated()


class _Run(Generic[T]):
    """The texts in progress, in order, and the searches by the id of their job."""

    def __init__(self, read: Callable[[str], T], texts: Iterable[str | None]) -> None:
        self._read = read
        self._texts = texts
        self._ids = count()
        self._entries: deque[_Entry[T]] = deque()
        self._in_flight: dict[int, tuple[_Entry[T], Search]] = {}
        self._retries: list[tuple[_Entry[T], Search]] = []

    def settle(self, job_id: int, hypotheses: Sequence[Hypothesis]) -> None:
        """Record a result; the last one of a text may require other searches."""
        entry, search = self._in_flight.pop(job_id)
        search.settle(hypotheses)
        entry.n_open -= 1
        if not entry.n_open:
            self._retries += self._opened(entry)

    def translated(self) -> Iterator[T]:
        """Yield translated texts, up to the first unfinished one."""
        while self._entries and not self._entries[0].n_open:
            yield self._entries.popleft().text

    def items(self) -> Iterator[Item]:
        """Yield the jobs of all texts; further searches of a text come with those of later ones."""
        failure: Exception | None = None
        texts = iter(self._texts)
        while True:
            try:
                text = next(texts)
                entry = None if text is None else _Entry(self._read(text), 0)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if entry is None:
                yield from self._pause()
                continue
            self._entries.append(entry)
            searches = self._opened(entry)
            yield from self._retried()
            yield from self._jobs(searches) if searches else [Finished(next(self._ids), [])]
        yield from self._pause()
        if failure is not None:
            raise failure

    def _opened(self, entry: _Entry[T]) -> list[tuple[_Entry[T], Search]]:
        pending = entry.text.pending()
        entry.n_open = len(pending)
        return [(entry, search) for search in pending]

    def _pause(self) -> Iterator[Item]:
        """Yield nothing further until everything before is translated."""
        yield None
        while self._retries:
            yield from self._retried()
            yield None

    def _retried(self) -> Iterator[Item]:
        retries, self._retries = self._retries, []
        return self._jobs(retries)

    def _jobs(self, searches: Sequence[tuple[_Entry[T], Search]]) -> Iterator[Item]:
        for entry, search in searches:
            job = Job(next(self._ids), tuple(search.source_ids), search.options)
            self._in_flight[job.id] = (entry, search)
            yield job


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


def offline_engines(
    checkpoint: Checkpoint,
    precision: PrecisionChoice = "auto",
    n_threads: int | None = None,
    devices: Sequence[str] = ("cpu",),
) -> list[Engine]:
    """Return the same engines as the server's, by default on all cores."""
    return build_engines(checkpoint, precision, n_threads or usable_cores(), BATCH_TOKENS, devices)


class Sentence:
    """A text that is translated whole; unchanged if there is nothing to translate.

    Raises `InputError` for more tokens than `max_tokens`, and `LanguageError` for a target without
    a symbol in the vocabulary. `direction` may lack the source, if the model does not read it.
    """

    def __init__(
        self,
        text: str,
        codec: TextCodec,
        direction: tuple[str | None, str],
        max_tokens: int,
        options: SearchOptions,
    ) -> None:
        source, target = direction
        self.source_ids: Sequence[int] = codec.source_ids(text, target, source)
        if len(self.source_ids) > max_tokens:
            n_tokens = len(self.source_ids)
            raise InputError(f"{n_tokens} tokens, the model reads at most {max_tokens}")
        self.options = options
        self.translation = text
        self.hypothesis: Hypothesis | None = None
        self._codec = codec
        self._is_blank = text.isspace() or len(self.source_ids) == codec.n_control_tokens

    def pending(self) -> list[Sentence]:
        """Return itself until it is settled, unless there is nothing to translate."""
        return [] if self._is_blank or self.hypothesis else [self]

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Take the best hypothesis."""
        self.hypothesis = hypotheses[0]
        self.translation = self._codec.decode(self.hypothesis.ids)
