"""A thread's records of its engine: its segments, suspects, throughput, share of lists.

Pure data structures: no clock, no lock, no torch.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence

from app.scheduling.requests import QueuedSegment

BULK_ROWS = 64
"""Maximum hypotheses of lists in an engine, though always a segment."""

BULK_ROWS_IN_COMPANY = 32
"""The same while single segments arrive."""

COMPANY_SECONDS = 1.0
"""Seconds after a single segment in which others are expected."""


class InFlight:
    """The segments in one engine, by job id. Only its thread changes it.

    cancelled    ids of abandoned jobs, added by any thread
    n_tokens     source tokens
    n_rows       live hypotheses
    n_bulk_rows  of these, those of the bulk lane
    """

    def __init__(self) -> None:
        self.segments: dict[int, QueuedSegment] = {}
        self.cancelled: deque[int] = deque()
        self.n_tokens = 0
        self.n_rows = 0
        self.n_bulk_rows = 0

    def __len__(self) -> int:
        return len(self.segments)

    def add(self, segment: QueuedSegment) -> None:
        self.segments[segment.job.id] = segment
        self._count(segment, 1)

    def remove(self, job_id: int) -> QueuedSegment | None:
        """Remove a segment that left the engine; return None if it is unknown."""
        segment = self.segments.pop(job_id, None)
        if segment:
            self._count(segment, -1)
        return segment

    def clear(self) -> list[QueuedSegment]:
        return [one for job_id in list(self.segments) if (one := self.remove(job_id))]

    def _count(self, segment: QueuedSegment, sign: int) -> None:
        n_rows = sign * segment.job.options.beam_size
        self.n_tokens += sign * segment.n_tokens
        self.n_rows += n_rows
        if segment.lane == "bulk":
            self.n_bulk_rows += n_rows


class BulkShare:
    """The share of an engine that long lists may have, so that single segments fit soon.

    With two threads and beam 4, beside lists of 2,000 segments, the 95th percentile of 20 single
    ones per second is 145 ms without a limit, 43 ms with 64 hypotheses and 25 ms with 32. Lists
    take equally long; at base size, a tenth longer with 32.

    `now` is by the scheduler's clock.
    """

    def __init__(self) -> None:
        self._company_until = -math.inf

    def single_came(self, now: float) -> None:
        self._company_until = now + COMPANY_SECONDS

    def n_rows(self, now: float) -> int:
        return BULK_ROWS_IN_COMPANY if now < self._company_until else BULK_ROWS


class Bisection:
    """Groups of suspects, by job ids. Each group is tried alone in the engine.

    A group that fails is halved; one that succeeds is cleared. The one of n segments that crashes
    the engine is found in at most 2 log2 n more trials, and no other fails with it.
    """

    def __init__(self) -> None:
        self._groups: deque[Sequence[int]] = deque()
        self._on_trial: Sequence[int] = ()

    def suspect(self, ids: Sequence[int]) -> None:
        """Add a group of at least two jobs on which the engine failed."""
        half = len(ids) // 2
        self._groups.extendleft((ids[half:], ids[:half]))
        self._on_trial = ()

    def on_trial(self, present: Callable[[int], bool]) -> list[int]:
        """Return the unfinished jobs of the group on trial, if any."""
        return [job_id for job_id in self._on_trial if present(job_id)]

    def next_group(self, present: Callable[[int], bool]) -> list[int]:
        """Return the present jobs of the next group to try, if any."""
        while self._groups:
            group = [job_id for job_id in self._groups.popleft() if present(job_id)]
            if group:
                self._on_trial = group
                return group
        self._on_trial = ()
        return []

    def clear(self) -> None:
        self._groups.clear()
        self._on_trial = ()

    def __bool__(self) -> bool:
        return bool(self._groups or self._on_trial)


class Throughput:
    """Seconds of engine time per source token; values older than `MEMORY` have little weight."""

    MEMORY = 10.0
    """Seconds of work after which past values have weight 1/e."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._tokens = 0.0

    @property
    def seconds_per_token(self) -> float:
        """Return the average; 0 while unknown."""
        return self._seconds / self._tokens if self._tokens else 0.0

    def worked(self, seconds: float) -> None:
        fading = math.exp(-seconds / self.MEMORY)
        self._seconds = fading * self._seconds + seconds
        self._tokens *= fading

    def finished(self, tokens: int) -> None:
        self._tokens += tokens
