"""A stream of lines over engines, each line the text that a server would take it for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from app.translation.segments.reading import Reading
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Engine, Finished, Job
from model.engine.run import Item, run_jobs
from model.translator import longest_first


class LineTranslator:
    """Translates each line as POST /translate translates a text, in constant memory.

    A None among the lines says that the next may be long in coming, so everything before it is
    handed out first. Raises at once the error that a segment died of, and errors of the lines once
    everything before is handed out.
    """

    def __init__(self, reading: Reading, engines: Sequence[Engine]) -> None:
        self._reading = reading
        self._engines = engines

    def translate(self, lines: Iterable[str | None]) -> Iterator[SegmentedText]:
        """Every line, answered, in their order."""
        run = _Run(self._reading, lines)
        for index, outcome in run_jobs(self._engines, longest_first(run.items())):
            if isinstance(outcome, Exception):
                raise outcome
            if outcome:
                run.settle(index, outcome)
            yield from run.answered()
        yield from run.answered()


class _Run:
    """What is under way: lines without an answer, in order, and segments by their job's id."""

    def __init__(self, reading: Reading, lines: Iterable[str | None]) -> None:
        self._reading = reading
        self._source = lines
        self._ids = count()
        self._in_flight: dict[int, tuple[SegmentedText, Segment]] = {}
        self._again: list[SegmentedText] = []
        self.lines: deque[SegmentedText] = deque()

    def settle(self, job_id: int, hypotheses: list[Hypothesis]) -> None:
        """A job is done; where it was the last of its line, others may be needed."""
        line, segment = self._in_flight.pop(job_id)
        segment.settle(hypotheses)
        if all(one.is_settled for one in line.segments):
            line.review()
            if not line.is_answered:
                self._again.append(line)

    def answered(self) -> Iterator[SegmentedText]:
        """Hand out the lines that are answered, up to the first that is not."""
        while self.lines and self.lines[0].is_answered:
            yield self.lines.popleft()

    def items(self) -> Iterator[Item]:
        """A job for every segment; those that have to be tried another way are among them."""
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
            text = SegmentedText(line, self._reading)
            self.lines.append(text)
            yield from self._retries()
            if not text.segments:
                yield Finished(next(self._ids), [])
            yield from self._jobs(text)
        yield from self._pause()
        if failure is not None:
            raise failure

    def _pause(self) -> Iterator[Item]:
        """Nothing further before all is answered, by as many ways as that takes."""
        yield None
        while self._again:
            yield from self._retries()
            yield None

    def _retries(self) -> Iterator[Item]:
        again, self._again = self._again, []
        for text in again:
            yield from self._jobs(text)

    def _jobs(self, text: SegmentedText) -> Iterator[Item]:
        for segment in text.pending():
            job = Job(next(self._ids), tuple(segment.source_ids), segment.options)
            self._in_flight[job.id] = (text, segment)
            yield job
