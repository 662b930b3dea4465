"""Searches a segment of several requests only once, while in flight and from the cache."""

from __future__ import annotations

from collections.abc import Sequence

from app.scheduling.fair_queue import Lane
from app.scheduling.requests import Completion, QueuedSegment, Request, Searchable
from app.scheduling.sentence_cache import SentenceCache
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job

_Key = tuple[tuple[int, ...], SearchOptions, Lane, bool]


class SharedSegments:
    """The queued and cached segments of one checkpoint. Belongs to one event loop.

    Interactive requests do not join segments in the bulk lane, and streaming requests do not join
    segments that are not streamed. Errors are not cached.

    max_bytes  memory limit of the cache; with 0, no segment is shared
    """

    def __init__(self, max_bytes: int) -> None:
        self._cache = SentenceCache(max_bytes) if max_bytes else None
        self._under_way: dict[_Key, QueuedSegment] = {}

    @property
    def n_bytes(self) -> int:
        """Memory of the cache."""
        return 0 if self._cache is None else self._cache.n_bytes

    def join(self, job: Job, request: Request, segment: Searchable) -> bool:
        """Join the request to a known job, if any."""
        if self._cache is None:
            return False
        if queued := self._under_way.get(_key(job, request.lane)):
            queued.join(request, segment)
            return True
        kept = self._cache.get(job.source_ids, job.options)
        if kept is None:
            return False
        request.settle(segment, Completion(kept, queued=0.0, worked=0.0))
        return True

    def n_new_tokens(self, jobs: Sequence[Job], lane: Lane) -> int:
        """Source tokens of the jobs that are neither in flight nor cached."""
        if self._cache is None:
            return sum(len(job.source_ids) for job in jobs)
        new = {
            _key(job, lane)
            for job in jobs
            if _key(job, lane) not in self._under_way
            and (job.source_ids, job.options) not in self._cache
        }
        return sum(len(source_ids) for source_ids, *_ in new)

    def open(self, segment: QueuedSegment) -> None:
        """Register a segment before it is queued."""
        if self._cache is not None:
            self._under_way[_key(segment.job, segment.lane)] = segment
            segment.on_settled = self._keep

    def leave(self, request: Request) -> list[QueuedSegment]:
        """Remove a finished or cancelled request; return its segments without other requests.

        The references between them are cleared, so that they are not left to the collector.
        """
        abandoned = []
        segments = dict.fromkeys(request.queued)
        request.queued.clear()
        for segment in segments:
            segment.leave(request)
            if segment.is_abandoned:
                abandoned.append(segment)
                self._close(segment)
        return abandoned

    def _keep(self, segment: QueuedSegment, outcome: Completion | Exception) -> None:
        self._close(segment)
        job = segment.job
        if self._cache is not None and isinstance(outcome, Completion):
            self._cache.put(job.source_ids, job.options, outcome.hypotheses)

    def _close(self, segment: QueuedSegment) -> None:
        key = _key(segment.job, segment.lane)
        if self._under_way.get(key) is segment:  # not a later one
            del self._under_way[key]


def _key(job: Job, lane: Lane) -> _Key:
    return job.source_ids, job.options, lane, job.stream
