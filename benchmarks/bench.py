"""What the scenarios of `benchmarks.reliability` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import request_bytes
from benchmarks.server import Server, attend_server, request_fields

CLIENTS = 32

DEADLINE = 5.0
"""Seconds in which whatever is admitted is answered."""

PROBE_TIMEOUT = 1000
"""Milliseconds; Kubernetes' own choice."""


@dataclass(frozen=True)
class Bench:
    """What to serve and what to ask it.

    texts    a sentence each
    threads  of the server
    seconds  of one load
    rounds   of loads whose rates are compared
    """

    checkpoint: Path
    texts: Sequence[str]
    threads: int
    seconds: float
    rounds: int

    @property
    def fields(self) -> dict[str, str | int]:
        """Of a request, beside its text."""
        return request_fields(self.checkpoint, beam=4)

    @property
    def requests(self) -> list[bytes]:
        """A single sentence each."""
        return [request_bytes({"text": text, **self.fields}) for text in self.texts]

    def server(self, *flags: str) -> Server:
        """`attend serve`."""
        return attend_server(self.checkpoint, self.threads, "auto", *flags)
