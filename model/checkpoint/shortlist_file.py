"""shortlist.bin: the candidates of every source token, in Marian's binary format of shortlists.

Six 64-bit numbers (magic, checksum, number of first ids, number per token, numbers of offsets and
of ids), the offsets, and the ids in 32 bits, all little-endian.
"""

import struct
from typing import Final

import numpy as np

from model.decoding.shortlist import Shortlist
from model.errors import CheckpointError

SHORTLIST_FILE: Final = "shortlist.bin"

_MAGIC = 0xF11A48D5013417F5
_HEADER = struct.Struct("<6Q")
_SUMMED_FROM = 16
"""Bytes before the part that the checksum covers."""
_N_SPECIAL = 2
"""`</s>` and `<unk>`: the first ids, which are candidates of every sentence, include them."""


def read_shortlist(
    data: bytes, origin: str, *, n_source: int, n_target: int, is_shared: bool
) -> Shortlist:
    """Read a file for vocabularies of these sizes. Raises `CheckpointError` that names `origin`."""

    def error(reason: str) -> CheckpointError:
        return CheckpointError(f"{origin}: damaged, or not a shortlist: {reason}")

    if len(data) < _HEADER.size:
        raise error("ends within the header")
    magic, _, n_first, _, n_offsets, n_ids = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise error("does not start as one")
    if len(data) != _HEADER.size + 8 * n_offsets + 4 * n_ids:
        raise error(f"{n_offsets:,} offsets and {n_ids:,} ids in {len(data):,} bytes")
    if n_offsets != n_source + 1:
        raise error(f"for {n_offsets - 1:,} source tokens; the vocabulary has {n_source:,}")
    if not _N_SPECIAL <= n_first <= n_target:
        raise error(f"{n_first:,} first ids, not {_N_SPECIAL} to {n_target:,}")
    offsets = np.frombuffer(data, "<u8", n_offsets, _HEADER.size)
    ids = np.frombuffer(data, "<u4", n_ids, _HEADER.size + 8 * n_offsets)
    if offsets[-1] != n_ids or (offsets[1:] < offsets[:-1]).any():
        raise error("offsets that do not ascend to the end")
    if n_ids and ids.max() >= n_target:
        raise error(f"id {ids.max():,}; the vocabulary has {n_target:,}")
    return Shortlist(n_first, offsets, ids, n_target, is_shared)


def has_checksum(data: bytes) -> bool:
    """Whether the checksum of a file is right: `util::hashMem` of Marian over its 64-bit words."""
    [_, expected, *_] = _HEADER.unpack_from(data)
    n_words = (len(data) - _SUMMED_FROM) // 8
    found, most = 0, 2**64 - 1
    for word in np.frombuffer(data, "<u8", n_words, _SUMMED_FROM).tolist():
        found ^= (word + 0x9E3779B9 + (found << 6) + (found >> 2)) & most
    return bool(found == expected)
