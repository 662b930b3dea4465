"""The settings shared by the scenarios of `benchmarks.reliability`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import request_bytes
from benchmarks.server import Server, attend_server, request_fields

CLIENTS = 32

DEADLINE = 5.0
"""Seconds within which all admitted requests are answered."""

PROBE_TIMEOUT = 1000
"""Milliseconds; Kubernetes' default."""


@dataclass(frozen=True)
class Bench:
    """What to serve and which requests to send.

    texts    one sentence each
    threads  threads of the server
    seconds  duration of a load
    rounds   repetitions of loads whose rates are compared
    """

    checkpoint: Path
    texts: Sequence[str]
    threads: int
    seconds: float
    rounds: int

    @property
    def fields(self) -> dict[str, str | int]:
        """Fields of a request, besides its text."""
        return request_fields(self.checkpoint, beam=4)

    @property
    def requests(self) -> list[bytes]:
        """Requests of one sentence each."""
        return [request_bytes({"text": text, **self.fields}) for text in self.texts]

    def server(self, *flags: str) -> Server:
        """`attend serve`."""
        return attend_server(self.checkpoint, self.threads, "auto", *flags)
