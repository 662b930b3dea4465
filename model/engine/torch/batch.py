"""The sentences in flight that are searched alike, and a step of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import torch

from model.decoding.rules import Traits
from model.engine.protocol import Finished, Job, Progress
from model.engine.torch.buckets import FEWEST_POSITIONS, bucket, positions
from model.engine.torch.decoder import StepDecoder
from model.engine.torch.graphs import Graphs, Recorder
from model.engine.torch.ledger import Ledger
from model.engine.torch.memory_short import give_back_unused, is_memory_short
from model.engine.torch.newcomers import Newcomer, by_length, seat
from model.engine.torch.rows import Rows
from model.engine.torch.search import Report, advance, report_width
from model.engine.torch.seats import Seats
from model.engine.torch.state import Sizes, State
from model.engine.torch.transfers import ReportReader, upload
from model.errors import NumericalError
from model.transformer.transformer import Transformer

MAX_LOGITS = 2**25
"""Maximum logits of a decoding step over all rows: 128 MB in float32. Beyond, slots take turns."""

PREPARED_POSITIONS = 128
"""Positions of either side up to which steps are recorded at the start."""


class Shared(NamedTuple):
    """What all batches of an engine share."""

    model: Transformer
    decoder: StepDecoder
    reader: ReportReader
    recorder: Recorder | None


class Batch:
    """Sentences with the same beam size and traits, each in a slot of its own; see `State`."""

    def __init__(self, shared: Shared, beam: int, traits: Traits, max_slots: int) -> None:
        self._model = model = shared.model
        self._decoder = shared.decoder
        self._reader = shared.reader
        self._graphs = Graphs(shared.recorder)
        self._beam = beam
        self._traits = traits
        self._max_slots = max_slots
        self._seats = Seats(max_slots)
        self._slots_at_once = self._most_at_once
        self._state = self._empty(Sizes(0, self._beam, FEWEST_POSITIONS, FEWEST_POSITIONS))
        self._ledger = Ledger(0, self._beam, FEWEST_POSITIONS, self._traits, model.config.eos_id)

    def __len__(self) -> int:
        return len(self._seats.jobs)

    @property
    def jobs(self) -> list[Job]:
        """Those in flight, oldest first."""
        return list(self._seats.jobs.values())

    @property
    def streams(self) -> bool:
        """Whether a job streams."""
        return bool(self._seats.n_told)

    @property
    def n_bytes(self) -> int:
        """Memory on the device."""
        return self._state.n_bytes

    # Graphs

    def prepare(self) -> None:
        """Record a step of every bucket up to `PREPARED_POSITIONS`; for an empty batch.

        Without a recorder there is nothing to do. Where memory is short, steps are recorded when
        they occur a second time, as those of other sizes are.
        """
        if not self._graphs.records:
            return
        longest = min(PREPARED_POSITIONS, self._model.config.max_length)
        try:
            self._reserve(self._max_slots, longest, longest)
            # The largest first: its memory serves the others.
            slots = {bucket(n, self._max_slots) for n in range(1, self._max_slots + 1)}
            lengths = {positions(n, longest, recorded=True) for n in range(1, longest + 1)}
            for sizes in product(*(sorted(n, reverse=True) for n in (slots, lengths, lengths))):
                for _ in range(2):  # the second time is recorded
                    self._decode(*sizes)
                if not self._graphs.records:
                    return
        except (RuntimeError, MemoryError) as error:
            if not is_memory_short(error):
                raise
            self._clear()
            give_back_unused(self._model.device)
        finally:
            self._seats.vacated.update(range(self._state.sizes.slots))

    # Joining and leaving

    def join(self, jobs: Sequence[Job]) -> list[Job]:
        """Encode jobs into free slots. Returns those for which there is no slot or no memory."""
        newcomers = list(map(Newcomer, jobs, self._seats.free))
        n_slots = max((one.slot for one in newcomers), default=-1) + 1
        longest = max((one.n_tokens for one in newcomers), default=0)
        try:
            self._reserve(n_slots, n_target=0, n_source=longest)
        except (RuntimeError, MemoryError) as error:
            if not is_memory_short(error):
                raise
            return list(jobs)
        left = list(jobs[len(newcomers) :])
        for group in by_length(newcomers):
            left += self._seat(group)
        return left

    def _seat(self, group: list[Newcomer]) -> list[Job]:
        """Encode a group, in halves if memory is short. Returns the jobs that did not fit."""
        try:
            seat(group, self._model, self._decoder, self._state)
        except (RuntimeError, MemoryError) as error:
            if not is_memory_short(error):
                raise
        else:
            for one in group:
                self._enter(one)
            return []
        give_back_unused(self._model.device)
        if len(group) == 1:
            return [group[0].job]
        middle = len(group) // 2
        return self._seat(group[:middle]) + self._seat(group[middle:])

    def _enter(self, one: Newcomer) -> None:
        self._seats.enter(one.slot, one.job)
        limit = one.job.options.token_limit(one.n_tokens, self._model.config.max_length)
        self._ledger.enter(one.slot, one.job.options, limit)

    def cancel(self, job_ids: set[int]) -> None:
        """Drop jobs."""
        for slot in [slot for slot, job in self._seats.jobs.items() if job.id in job_ids]:
            self._leave(slot)

    def _clear(self) -> list[Job]:
        """Drop all jobs, which are returned, and the memory."""
        jobs = self.jobs
        for slot in list(self._seats.jobs):
            self._leave(slot)
        self._seats.vacated.clear()
        self._replace(self._empty(Sizes(0, self._beam, FEWEST_POSITIONS, FEWEST_POSITIONS)))
        return jobs

    def _leave(self, slot: int) -> Job:
        self._ledger.leave(slot)
        return self._seats.leave(slot)

    # A step

    @property
    def _most_at_once(self) -> int:
        return max(1, MAX_LOGITS // (self._beam * self._model.config.target_vocab_size))

    def widen(self) -> None:
        """Decode more slots at once again, after memory was short."""
        self._slots_at_once = min(2 * self._slots_at_once, self._most_at_once)

    def advance(self) -> tuple[list[Finished], list[Job]]:
        """Take every sentence a token further; return those that ended.

        Where memory is too short, also return all jobs, which then are no longer here.
        """
        new = np.flatnonzero(self._ledger.active & (self._ledger.length == 0))
        if at_once := self._ledger.end_forced(new):
            return [self._finished(slot) for slot in at_once], []
        try:
            return self._step(), []
        except (RuntimeError, MemoryError) as error:
            if not is_memory_short(error):
                raise
            return [], self._clear()

    def _step(self) -> list[Finished]:
        self._compact()
        self._vacate()
        n_slots = self._seats.n_used
        n_target = int(self._ledger.length[self._ledger.active].max()) + 1
        self._reserve(n_slots, n_target, 0)
        sizes = self._state.sizes
        n_target = positions(n_target, sizes.target, recorded=self._graphs.records)
        longest = max(len(job.source_ids) for job in self.jobs)
        n_source = positions(longest, sizes.source, recorded=self._graphs.records)
        self._decode(n_slots, n_target, n_source)
        rows = self._reader.read(self._state.report[:n_slots])
        done, spoilt = self._ledger.advance(Report.read(rows, self._beam))
        if spoilt:
            self._state.clear(upload(spoilt, self._model.device))
        finished = [self._finished(slot) for slot in done]
        return finished + [self._spoilt(slot) for slot in spoilt]

    def _decode(self, n_slots: int, n_target: int, n_source: int) -> None:
        """Start a step of the first slots, in turns of as many as there is memory for."""
        low = 0
        while low < n_slots:
            high = min(low + self._slots_at_once, n_slots)
            key = (low, high, n_target, n_source)
            try:
                self._graphs.run(key, partial(self._decode_window, *key, self._rows(low, high)))
            except (RuntimeError, MemoryError) as error:
                if not is_memory_short(error) or high - low == 1:
                    raise
                give_back_unused(self._model.device)
                self._slots_at_once = (high - low) // 2
            else:
                low = high

    def _rows(self, low: int, high: int) -> Rows:
        """Return which hypotheses of a window a step computes."""
        n_all = (high - low) * self._beam
        if self._graphs.records or self._model.device.type != "cpu":
            return Rows(n_all)
        [indices] = np.nonzero(self._ledger.hopeful(low, high).ravel())
        return Rows(n_all, upload(indices, self._model.device) if len(indices) < n_all else None)

    def _decode_window(self, low: int, high: int, n_target: int, n_source: int, rows: Rows) -> None:
        window = self._state.window(low, high, n_target, n_source)
        rows.drop_others(window.live)
        fed = self._decoder.feed(window, rows)
        advance(window, rows, fed, self._model.config, self._traits)

    def _finished(self, slot: int) -> Finished:
        found = self._ledger.outcome(slot, self._seats.jobs[slot].options)
        if not found:
            return self._spoilt(slot)
        return Finished(self._leave(slot).id, found)

    def _spoilt(self, slot: int) -> Finished:
        error = NumericalError("the model's output is not finite for this input")
        return Finished(self._leave(slot).id, error)

    def progress(self) -> list[Progress]:
        """Return what is newly certain of jobs that stream."""
        news = []
        for slot, n_told in self._seats.n_told.items():
            ids = self._ledger.agreed(slot) if self._ledger.length[slot] else []
            if len(ids) > n_told:
                self._seats.n_told[slot] = len(ids)
                news.append(Progress(self._seats.jobs[slot].id, ids))
        return news

    # Sizes

    def _compact(self) -> None:
        """Move sentences to lower slots if a step can then do with a smaller bucket."""
        source, target = self._seats.compact()
        if source:
            self._state.move(*(upload(slots, self._model.device) for slots in (source, target)))
            self._ledger.move(source, target)

    def _vacate(self) -> None:
        """Drop the hypotheses of sentences that left."""
        if vacated := self._seats.vacated:
            slots = upload(list(vacated), self._model.device)
            self._state.live.index_fill_(0, slots, -torch.inf)
            vacated.clear()

    def _reserve(self, n_slots: int, n_target: int, n_source: int) -> None:
        """Grow until there are that many slots and positions."""
        longest = self._model.config.max_length
        wanted = Sizes(
            bucket(n_slots, self._max_slots),
            self._beam,
            bucket(n_target, longest),
            bucket(n_source, longest),
        )
        if not self._state.sizes.holds(wanted):
            grown = self._empty(self._state.sizes.grown(wanted))
            grown.copy_from(self._state)
            self._replace(grown)

    def _replace(self, state: State) -> None:
        self._ledger = self._ledger.grown(state.sizes.slots, state.sizes.target)
        self._state = state
        self._graphs.forget()

    def _empty(self, sizes: Sizes) -> State:
        config, output = self._model.config, self._model.output.weight
        longest = config.max_length
        sizes = Sizes(
            sizes.slots, sizes.beam, min(sizes.target, longest), min(sizes.source, longest)
        )
        return State.empty(sizes, config, report_width(self._beam), output.dtype, output.device)
