"""A cache of search results: least recently used, limited in bytes.

Since the results of an engine do not depend on concurrent work, bit for bit (docs/engine.md), a
cached result equals a new one.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from cachetools import LRUCache

from model.decoding.hypothesis import Hypothesis, SearchOptions

ENTRY_BYTES = 850
"""Bytes of an entry besides its numbers: in the table, its tuples, its options."""

_Key = tuple[bytes, SearchOptions]
_Packed = tuple[bytes, bytes, float, bool]


class _Entry(NamedTuple):
    hypotheses: list[_Packed]
    n_bytes: int


class SentenceCache:
    """Maps source ids and search options to hypotheses, for one checkpoint.

    max_bytes  approximate memory limit; 0 disables it
    """

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[_Key, _Entry] = LRUCache(max_bytes, lambda entry: entry.n_bytes)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, searched: tuple[Sequence[int], SearchOptions]) -> bool:
        return _key(*searched) in self._entries

    @property
    def n_bytes(self) -> int:
        """Approximate memory of the entries."""
        return int(self._entries.currsize)

    def get(self, source_ids: Sequence[int], options: SearchOptions) -> list[Hypothesis] | None:
        """Return the cached hypotheses, best first, if any."""
        entry = self._entries.get(_key(source_ids, options))
        return None if entry is None else [_unpack(one) for one in entry.hypotheses]

    def put(
        self, source_ids: Sequence[int], options: SearchOptions, hypotheses: Sequence[Hypothesis]
    ) -> None:
        """Store hypotheses, evicting the least recently used."""
        key = _key(source_ids, options)
        if key in self._entries:
            return
        packed = [_pack(one) for one in hypotheses]
        entry = _Entry(packed, _size(key, packed))
        if entry.n_bytes <= self._entries.maxsize:
            self._entries[key] = entry


def _key(source_ids: Sequence[int], options: SearchOptions) -> _Key:
    return array("i", source_ids).tobytes(), options


def _pack(one: Hypothesis) -> _Packed:
    """Pack losslessly into a tenth of the memory."""
    ids, log_probs = array("i", one.ids), array("d", one.log_probs)
    return ids.tobytes(), log_probs.tobytes(), one.score, one.capped


def _unpack(packed: _Packed) -> Hypothesis:
    ids, log_probs, score, capped = packed
    return Hypothesis(tuple(array("i", ids)), tuple(array("d", log_probs)), score, capped)


def _size(key: _Key, entry: list[_Packed]) -> int:
    numbers = [key[0], *(part for ids, log_probs, _, _ in entry for part in (ids, log_probs))]
    return ENTRY_BYTES + sum(map(sys.getsizeof, numbers))
