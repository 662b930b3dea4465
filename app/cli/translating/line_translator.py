"""A stream of lines over engines, each line the text that a server would take it for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from app.text.languages import Direction
from app.translation.segmented_text import Passage, Stretch
from model.checkpoint.config import CheckpointConfig
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Engine, Finished, Job
from model.engine.run import Item, run_jobs
from model.text.text_codec import TextCodec
from model.translator import longest_first


class LineTranslator:
    """Translates each line as POST /translate translates a text, in constant memory.

    A None among the lines says that the next may be long in coming, so everything before it is
    handed out first. Raises at once the error that a sentence died of, and errors of the lines once
    everything before is handed out.
    """

    def __init__(
        self,
        config: CheckpointConfig,
        codec: TextCodec,
        engines: Sequence[Engine],
        direction: Direction,
        options: SearchOptions,
    ) -> None:
        self._max_tokens = config.transformer.max_length
        self._codec = codec
        self._engines = engines
        self._direction = direction
        self._options = options
        self._choice = replace(options, n_best=options.beam_size)

    def translate(self, lines: Iterable[str | None]) -> Iterator[Passage]:
        """The passage of every line, answered, in their order."""
        run = _Run(self, lines)
        for index, outcome in run_jobs(self._engines, longest_first(run.items())):
            if isinstance(outcome, Exception):
                raise outcome
            if outcome:
                passage, stretch = run.in_flight.pop(index)
                run.again += [(passage, other) for other in passage.settle(stretch, outcome)]
            while run.lines and not run.lines[0].pending:
                yield run.lines.popleft()

    def passage(self, line: str) -> Passage:
        """The line, to be translated."""
        return Passage(line, self._direction, self._codec, self._max_tokens, "sentences")

    def job(self, index: int, stretch: Stretch) -> Job:
        """A stretch for an engine; with placeholders, there is to be a choice of answers."""
        options = self._choice if stretch.holds_placeholders else self._options
        return Job(index, tuple(stretch.source_ids), options)


class _Run:
    """What is under way: lines without an answer, in order, and stretches by their job's index."""

    def __init__(self, translator: LineTranslator, lines: Iterable[str | None]) -> None:
        self._translator = translator
        self._source = lines
        self._indices = count()
        self.lines: deque[Passage] = deque()
        self.in_flight: dict[int, tuple[Passage, Stretch]] = {}
        self.again: list[tuple[Passage, Stretch]] = []

    def items(self) -> Iterator[Item]:
        """A job for every stretch; those that have to be tried another way are among them."""
        failure: Exception | None = None
        lines = iter(self._source)
        while True:
            try:
                line = next(lines)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if line is None:
                yield from self._pause()
                continue
            passage = self._translator.passage(line)
            self.lines.append(passage)
            yield from self._retries()
            if not passage.pending:
                yield Finished(next(self._indices), [])
            yield from self._jobs([(passage, stretch) for stretch in passage.pending])
        yield from self._pause()
        if failure is not None:
            raise failure

    def _pause(self) -> Iterator[Item]:
        """Nothing further before all is answered, by as many ways as that takes."""
        yield None
        while self.again:
            yield from self._retries()
            yield None

    def _retries(self) -> Iterator[Item]:
        again, self.again = self.again, []
        yield from self._jobs(again)

    def _jobs(self, stretches: Iterable[tuple[Passage, Stretch]]) -> Iterator[Item]:
        for passage, stretch in stretches:
            index = next(self._indices)
            self.in_flight[index] = (passage, stretch)
            yield self._translator.job(index, stretch)
