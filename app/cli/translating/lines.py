"""Lines from a byte stream, in blocks of what there is."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import Protocol

from model.errors import InputError

CHUNK_BYTES = 16_384
MAX_LINE_BYTES = 1_000_000


class ByteSource(Protocol):
    """What of `io.BufferedReader` is needed."""

    def read1(self, size: int, /) -> bytes:
        """At most `size` bytes, as soon as there are any; none at the end."""

    def fileno(self) -> int:
        """What it reads from. Raises `OSError` if that is no file."""


def line_blocks(stream: ByteSource) -> Iterator[list[str]]:
    """The lines of `stream` without their ends, as soon as they are complete, in constant memory.

    A block is empty where the next line has not arrived, or where that cannot be known.

    Only "\\n" and "\\r\\n" end a line, so that a block has as many as `wc -l` counts. Raises
    `InputError`, once the lines before were given out, for one that is not UTF-8 or is too long.
    """
    number, pending = 1, b""
    while True:
        if not _has_arrived(stream):
            yield []
        if not (chunk := stream.read1(CHUNK_BYTES)):
            break
        *complete, pending = (pending + chunk).split(b"\n")
        if complete:
            yield from _decode(complete, number)
            number += len(complete)
        if len(pending) > MAX_LINE_BYTES:
            raise InputError(f"line {number}: longer than {MAX_LINE_BYTES:,} bytes")
    if pending:
        yield from _decode([pending], number)


def _has_arrived(stream: ByteSource) -> bool:
    """Whether the next `read1` need not wait. It leaves nothing buffered, so the file says that."""
    try:
        ready, _, _ = select.select([stream.fileno()], [], [], 0)
    except OSError:
        return False
    return bool(ready)


def _decode(lines: list[bytes], first: int) -> Iterator[list[str]]:
    block: list[str] = []
    for number, line in enumerate(lines, start=first):
        try:
            block.append(line.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            if block:
                yield block
            raise InputError(f"line {number}: not UTF-8 ({error.reason})") from None
    yield block
