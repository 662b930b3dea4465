"""The sentences in flight that share a beam size and a rule, and a step of all of them."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import torch

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import Traits
from model.engine.protocol import Finished, Job
from model.engine.torch.decoder import Rows, StepDecoder
from model.engine.torch.device import ReportReader, memory_errors, release_cache, upload
from model.engine.torch.encoder import NewSentence, by_length, encode_into
from model.engine.torch.graphs import Capture, Graphs
from model.engine.torch.history import BeamHistory
from model.engine.torch.search import Report, advance, report_width
from model.engine.torch.slots import (
    MIN_POSITIONS,
    Slots,
    bucket,
    position_bucket,
    prepared_lengths,
)
from model.engine.torch.state import Sizes, State
from model.transformer.transformer import Transformer

MAX_LOGITS = 2**25
"""Maximum logits of a decoding step: 128 MB in float32. Beyond, slots are decoded in turns."""

_CHECKED_SENTENCES, _CHECKED_TOKENS = 4, 6
"""Random sentences, and their tokens, that are translated with graphs and without."""

_log = logging.getLogger(__name__)


class Shared(NamedTuple):
    """The state that all batches of an engine share."""

    model: Transformer
    decoder: StepDecoder
    reader: ReportReader
    capture: Capture | None


class Batch:
    """Sentences with the same beam size, traits and `min_length`, each in a slot of its own."""

    def __init__(
        self, shared: Shared, beam: int, traits: Traits, max_slots: int, min_length: int = 0
    ) -> None:
        self._model = model = shared.model
        self._decoder = shared.decoder
        self._reader = shared.reader
        self._graphs = Graphs(shared.capture)
        self._beam = beam
        self._traits = traits
        self._min_length = min_length
        self._max_slots = max_slots
        self._slots = Slots(max_slots)
        self._slots_at_once = self._max_at_once
        self._state = self._empty(Sizes(0, beam, MIN_POSITIONS, MIN_POSITIONS))
        self._history = BeamHistory(0, beam, MIN_POSITIONS, traits, model.config.eos_id)

    def __len__(self) -> int:
        return len(self._slots.jobs)

    @property
    def jobs(self) -> list[Job]:
        """Jobs in flight, oldest first."""
        return list(self._slots.jobs.values())

    @property
    def n_bytes(self) -> int:
        return self._state.n_bytes

    def prepare(self, options: SearchOptions) -> None:
        """Record a step of every bucket of `prepared_lengths`; for an empty batch.

        Does nothing without graphs, and ends them if they find something else than the steps
        that they recorded. If memory is short, steps are recorded when they occur a
        second time, as those of other sizes are.
        """
        if not self._graphs.enabled:
            return
        lengths = prepared_lengths(self._model.config)
        try:
            with memory_errors():
                self._reserve(self._max_slots, lengths[0], lengths[0])
                # The largest first: its memory serves the others.
                slots = {bucket(n, self._max_slots) for n in range(1, self._max_slots + 1)}
                for sizes in product(sorted(slots, reverse=True), lengths, lengths):
                    for _ in range(2):  # the second time is recorded
                        self._decode(*sizes)
                    if not self._graphs.enabled:
                        return
        except MemoryError:
            self._clear()
            release_cache(self._model.device)
        finally:
            self._slots.vacated.update(range(self._state.sizes.slots))
        if self._state.sizes.slots and not self._replays_what_it_recorded(options):
            _log.warning("steps are not replayed as graphs: these find other translations")
            self._graphs = Graphs(None)

    def _replays_what_it_recorded(self, options: SearchOptions) -> bool:
        """Whether replayed steps and the same steps as they were find the same, to the last bit."""
        random = np.random.default_rng(1)
        config = self._model.config
        few = replace(options, max_target_tokens=_CHECKED_TOKENS)
        jobs = [
            Job(n, (*random.integers(config.source_vocab_size, size=n + 2), config.eos_id), few)
            for n in range(min(_CHECKED_SENTENCES, self._max_slots))
        ]
        recorded, found = self._graphs, []
        for graphs in (recorded, Graphs(lambda work: work)):
            self._graphs = graphs
            self.join(jobs)
            ended: list[Finished] = []
            while self:
                ended += self.advance()[0]
            found.append(sorted((one.job_id, repr(one.outcome)) for one in ended))
        self._graphs = recorded
        return found[0] == found[1]

    def join(self, jobs: Sequence[Job]) -> list[Job]:
        """Encode jobs into free slots. Returns those for which there is no slot or no memory."""
        sentences = list(map(NewSentence, jobs, self._slots.free))
        n_slots = max((one.slot for one in sentences), default=-1) + 1
        longest = max((one.n_tokens for one in sentences), default=0)
        try:
            with memory_errors():
                self._reserve(n_slots, n_target=0, n_source=longest)
        except MemoryError:
            return list(jobs)
        left = list(jobs[len(sentences) :])
        for group in by_length(sentences):
            left += self._encode(group)
        return left

    def _encode(self, group: list[NewSentence]) -> list[Job]:
        """Encode a group, in halves if memory is short. Returns the jobs that did not fit."""
        try:
            with memory_errors():
                encode_into(group, self._model, self._decoder, self._state)
        except MemoryError:
            pass
        else:
            for job, slot in group:
                self._slots.occupy(slot, job)
                limits = job.options.limits(len(job.source_ids), self._model.config.max_length)
                self._history.start(slot, job.options, limits.n_tokens)
            return []
        release_cache(self._model.device)
        if len(group) == 1:
            return [group[0].job]
        middle = len(group) // 2
        return self._encode(group[:middle]) + self._encode(group[middle:])

    def cancel(self, job_ids: set[int]) -> None:
        for slot in [slot for slot, job in self._slots.jobs.items() if job.id in job_ids]:
            self._leave(slot)

    def _clear(self) -> list[Job]:
        """Drop all jobs, which are returned, and the memory."""
        jobs = self.jobs
        for slot in list(self._slots.jobs):
            self._leave(slot)
        self._slots.vacated.clear()
        self._replace(self._empty(Sizes(0, self._beam, MIN_POSITIONS, MIN_POSITIONS)))
        return jobs

    def _leave(self, slot: int) -> Job:
        self._history.active[slot] = False
        return self._slots.vacate(slot)

    @property
    def _max_at_once(self) -> int:
        return max(1, MAX_LOGITS // (self._beam * self._model.config.target_vocab_size))

    def widen(self) -> None:
        """Decode more slots at once again, after memory was short."""
        self._slots_at_once = min(2 * self._slots_at_once, self._max_at_once)

    def advance(self) -> tuple[list[Finished], list[Job]]:
        """Advance every sentence by a token; return those that ended.

        If memory is short, also return all other jobs, which leave the batch.
        """
        new = np.flatnonzero(self._history.active & (self._history.length == 0))
        if at_once := self._history.end_forced(new):
            return [self._finished(slot) for slot in at_once], []
        try:
            with memory_errors():
                return self._step(), []
        except MemoryError:
            return [], self._clear()

    def _step(self) -> list[Finished]:
        self._compact()
        self._clear_vacated()
        n_slots = self._slots.n_used
        n_target = int(self._history.length[self._history.active].max()) + 1
        self._reserve(n_slots, n_target, 0)
        sizes, recorded = self._state.sizes, self._graphs.enabled
        n_target = position_bucket(n_target, sizes.target, recorded=recorded)
        longest = max(len(job.source_ids) for job in self.jobs)
        n_source = position_bucket(longest, sizes.source, recorded=recorded)
        self._decode(n_slots, n_target, n_source)
        rows = self._reader.read(self._state.report[:n_slots])
        done, not_finite = self._history.advance(Report.read(rows, self._beam))
        if not_finite:
            self._state.clear(upload(not_finite, self._model.device))
        return [self._finished(slot) for slot in (*done, *not_finite)]

    def _decode(self, n_slots: int, n_target: int, n_source: int) -> None:
        """Start a step of the first slots, in turns of as many as memory allows."""
        low = 0
        while low < n_slots:
            high = min(low + self._slots_at_once, n_slots)
            key = (low, high, n_target, n_source)
            try:
                with memory_errors():
                    self._graphs.run(key, partial(self._decode_window, *key, self._rows(low, high)))
            except MemoryError:
                if high - low == 1:
                    raise
                release_cache(self._model.device)
                self._slots_at_once = (high - low) // 2
            else:
                low = high

    def _rows(self, low: int, high: int) -> Rows:
        """Return which hypotheses of a window a step computes."""
        n_all = (high - low) * self._beam
        if self._graphs.enabled or self._model.device.type != "cpu":
            return Rows(n_all)
        [indices] = np.nonzero(self._history.hopeful(low, high).ravel())
        return Rows(n_all, upload(indices, self._model.device) if len(indices) < n_all else None)

    def _decode_window(self, low: int, high: int, n_target: int, n_source: int, rows: Rows) -> None:
        window = self._state.window(low, high, n_target, n_source)
        rows.drop_others(window.live)
        fed = self._decoder.feed(window, rows)
        advance(window, rows, fed, self._model.config, self._traits, self._min_length)

    def _finished(self, slot: int) -> Finished:
        outcome = self._history.outcome(slot, self._slots.jobs[slot].options)
        return Finished(self._leave(slot).id, outcome)

    def prefixes(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the stable prefix of each job that streams, after its first step."""
        for slot, job in self._slots.jobs.items():
            if job.stream and self._history.length[slot]:
                yield job.id, self._history.agreed(slot)

    def _compact(self) -> None:
        """Move sentences to lower slots if a smaller bucket then holds them."""
        source, target = self._slots.compact()
        if source:
            self._state.move(*(upload(slots, self._model.device) for slots in (source, target)))
            self._history.move(source, target)

    def _clear_vacated(self) -> None:
        """Drop the hypotheses of sentences that left."""
        if vacated := self._slots.vacated:
            slots = upload(list(vacated), self._model.device)
            self._state.live.index_fill_(0, slots, -torch.inf)
            vacated.clear()

    def _reserve(self, n_slots: int, n_target: int, n_source: int) -> None:
        """Grow to at least that many slots and positions."""
        longest = self._model.config.max_length
        positions = (bucket(n, longest) for n in (n_target, n_source))
        needed = Sizes(bucket(n_slots, self._max_slots), self._beam, *positions)
        grown = Sizes(*map(max, self._state.sizes, needed))
        if grown != self._state.sizes:
            state = self._empty(grown)
            state.copy_from(self._state)
            self._replace(state)

    def _replace(self, state: State) -> None:
        self._history = self._history.resized(state.sizes.slots, state.sizes.target)
        self._state = state
        self._graphs.forget()

    def _empty(self, sizes: Sizes) -> State:
        config, output = self._model.config, self._model.output.weight
        longest = config.max_length
        sizes = sizes._replace(target=min(sizes.target, longest), source=min(sizes.source, longest))
        return State.empty(sizes, config, report_width(self._beam), output.dtype, output.device)
