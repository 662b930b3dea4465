"""A segment that several requests ask for is searched once, while in flight and afterwards."""

from __future__ import annotations

from app.scheduling.fair_queue import Lane
from app.scheduling.queue_items import Completion, QueuedSegment, Request, Searchable
from app.scheduling.sentence_cache import SentenceCache
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job

_Key = tuple[tuple[int, ...], SearchOptions, Lane, bool]


class SharedSegments:
    """What is under way or was answered, of one checkpoint. Belongs to one event loop.

    A segment in the bulk lane is not waited for from the other one, nor one of which nothing is
    told before its end by who wants that. Errors are not kept.

    max_bytes  of memory for answers; with 0 no segment is shared
    """

    def __init__(self, max_bytes: int) -> None:
        self._cache = SentenceCache(max_bytes) if max_bytes else None
        self._under_way: dict[_Key, QueuedSegment] = {}

    def join(self, job: Job, request: Request, segment: Searchable) -> bool:
        """Have the request answered as others are, if the job is known already."""
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

    def open(self, segment: QueuedSegment) -> None:
        """It is about to be under way."""
        if self._cache is not None:
            self._under_way[_key(segment.job, segment.lane)] = segment
            segment.on_settled = self._keep

    def leave(self, request: Request) -> list[QueuedSegment]:
        """The request is answered or given up; returns the segments that nobody asks for now.

        The request lets go of them: they hold it, and so both would be left to the collector.
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
        if self._under_way.get(key) is segment:  # and not a later one
            del self._under_way[key]


def _key(job: Job, lane: Lane) -> _Key:
    return job.source_ids, job.options, lane, job.stream
