"""Searches a segment of several requests only once, while in flight and from the cache.

Since the results of an engine do not depend on concurrent work, bit for bit (docs/engine.md), a
cached result equals a new one.
"""

import sys
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from cachetools import LRUCache

from app.scheduling.fair_queue import Lane
from app.scheduling.requests import Completion, QueuedSegment, Request, Searchable
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.protocol import Job

ENTRY_BYTES = 850
"""Bytes of an entry besides its numbers: in the table, its tuples, its options."""

_Key = tuple[tuple[int, ...], SearchOptions, Lane, bool]
_PackedKey = tuple[bytes, SearchOptions]
_Packed = tuple[bytes, bytes, float, bool]


class _Entry(NamedTuple):
    hypotheses: list[_Packed]
    n_bytes: int


class SentenceCache:
    """Maps source ids and search options to hypotheses, for one checkpoint.

    max_bytes  approximate memory limit; 0 disables it
    """

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[_PackedKey, _Entry] = LRUCache(
            max_bytes, lambda entry: entry.n_bytes
        )

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, searched: tuple[Sequence[int], SearchOptions]) -> bool:
        return _packed_key(*searched) in self._entries

    @property
    def n_bytes(self) -> int:
        return int(self._entries.currsize)

    def get(self, source_ids: Sequence[int], options: SearchOptions) -> list[Hypothesis] | None:
        """Return the cached hypotheses, best first, if any."""
        entry = self._entries.get(_packed_key(source_ids, options))
        return None if entry is None else [_unpack(one) for one in entry.hypotheses]

    def put(
        self, source_ids: Sequence[int], options: SearchOptions, hypotheses: Sequence[Hypothesis]
    ) -> None:
        key = _packed_key(source_ids, options)
        if key in self._entries:
            return
        packed = [_pack(one) for one in hypotheses]
        entry = _Entry(packed, _size(key, packed))
        if entry.n_bytes <= self._entries.maxsize:
            self._entries[key] = entry


def _packed_key(source_ids: Sequence[int], options: SearchOptions) -> _PackedKey:
    return array("i", source_ids).tobytes(), options


def _pack(one: Hypothesis) -> _Packed:
    """Pack losslessly into a tenth of the memory."""
    ids, log_probs = array("i", one.ids), array("d", one.log_probs)
    return ids.tobytes(), log_probs.tobytes(), one.score, one.capped


def _unpack(packed: _Packed) -> Hypothesis:
    ids, log_probs, score, capped = packed
    return Hypothesis(tuple(array("i", ids)), tuple(array("d", log_probs)), score, capped)


def _size(key: _PackedKey, entry: list[_Packed]) -> int:
    numbers = [key[0], *(part for ids, log_probs, _, _ in entry for part in (ids, log_probs))]
    return ENTRY_BYTES + sum(map(sys.getsizeof, numbers))


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
        return 0 if self._cache is None else self._cache.n_bytes

    def join(self, job: Job, request: Request, segment: Searchable) -> bool:
        """Join the request to a known job, if any."""
        if self._cache is None:
            return False
        queued = self._under_way.get(_key(job, request.lane))
        if queued and queued.deadline > request.submitted:  # else an engine may just refuse it
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
