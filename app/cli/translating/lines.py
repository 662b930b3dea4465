"""Reads lines from a byte stream, in blocks of those available."""

import select
from collections.abc import Iterator
from typing import Protocol

from model.errors import InputError

CHUNK_BYTES = 16_384
MAX_LINE_BYTES = 1_000_000


class ByteSource(Protocol):
    """The part of `io.BufferedReader` that is needed."""

    def read1(self, size: int, /) -> bytes:
        """Read at most `size` bytes, once any are available; none at the end."""

    def fileno(self) -> int:
        """Return the descriptor. Raises `OSError` if it is not a file."""


def line_blocks(stream: ByteSource) -> Iterator[list[str]]:
    """Yield the lines of `stream` without their ends, once complete, in constant memory.

    A block is empty if the next line has not arrived, or if that cannot be known.

    Only "\\n" and "\\r\\n" end a line, as in `wc -l`. Raises `InputError`, after all lines before
    it, for a line that is not UTF-8 or is too long.
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
    """Whether the next `read1` will not block. It buffers nothing, so the file knows."""
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
