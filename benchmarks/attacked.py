"""A server under attack: watches its probes, its memory and its log."""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.settings import Settings
from benchmarks.connection import HOST
from benchmarks.crowd import probing
from benchmarks.report import Cell
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.server import Server, free_port, memory, start_at, stop

PROBE_LIMIT = 1.0
"""Maximum seconds for /livez."""

GRACE = 1.0
"""Maximum seconds by which an answer may exceed its deadline."""

SPARE_BYTES = 100_000_000
"""Memory that an attack may use in addition to three bodies of the largest size."""

_FAILURE = re.compile(rb"Traceback|\"level\": ?\"(?:error|critical)\"")


@dataclass
class Seen:
    """Results of the requests of an attack.

    answers  seconds after the deadline, and a description of the request
    failed   connections without an answer
    left     clients that disconnected before the answer
    """

    statuses: Counter[int] = field(default_factory=Counter)
    answers: list[tuple[float, str]] = field(default_factory=list)
    failed: int = 0
    left: int = 0

    @property
    def n_sent(self) -> int:
        """Number of requests."""
        return self.statuses.total() + self.failed + self.left


@dataclass(frozen=True)
class Outcome:
    """The effect of an attack on its server.

    probe     seconds of the longest /livez on either port
    late      seconds of the latest answer after its deadline; `latest` describes its request
    grown     growth of the peak of resident memory in bytes
    working   seconds during which the server was busy after the last client
    failures  errors and tracebacks in the log
    """

    name: str
    seen: Seen
    probe: float
    late: float
    latest: str
    grown: int
    bound: int
    working: float
    failures: int

    @property
    def violations(self) -> list[str]:
        """Descriptions of the bounds that do not hold."""
        bounds = {
            f"/livez took {self.probe:.2f} s": self.probe <= PROBE_LIMIT,
            f"an answer {self.late:.2f} s late: {self.latest}": self.late <= GRACE,
            f"{self.grown / 1e6:.0f} MB beyond the start": self.grown <= self.bound,
            f"requests without an answer: {self.seen.failed}": not self.seen.failed,
            f"failures in the log: {self.failures}": not self.failures,
        }
        return [violation for violation, holds in bounds.items() if not holds]

    def row(self) -> dict[str, Cell]:
        """Return the row of the table."""
        counts = sorted(self.seen.statuses.items())
        return {
            "Attack": self.name,
            "Sent": self.seen.n_sent,
            "Left": self.seen.left,
            "Answers": ", ".join(f"{n} × {status}" for status, n in counts),
            "/livez, s": self.probe,
            "Late, s": self.late,
            "Grown, MB": self.grown / 1e6,
            "At most": self.bound / 1e6,
            "Works on, s": self.working,
            "Holds": "NO" if self.violations else "yes",
        }


COLUMNS = {
    "Attack": "", "Sent": ",", "Left": ",", "Answers": "", "/livez, s": ".2f", "Late, s": ".2f",
    "Grown, MB": ".0f", "At most": ".0f", "Works on, s": ".1f", "Holds": "",
}  # fmt: skip
NOTES = (
    f"/livez: the longest on either port, at most {PROBE_LIMIT:g} s. Late: the latest answer after "
    f"its deadline, at most {GRACE:g} s. Grown: the growth of the peak of resident memory. "
    "Works on: time until the server is idle after the last client.",
)


@dataclass
class Attacked:
    """A server under attack; `outcome` is set when the attack is over."""

    port: int
    pid: int
    seen: Seen
    outcome: Outcome | None = None

    def n_sockets(self) -> int:
        """Return the number of the server's open sockets."""
        n = 0
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                n += str(link.readlink()).startswith("socket:")
        return n

    def concluded(self) -> Outcome:
        """Return the outcome. Raises `RuntimeError` if the attack is not over."""
        if self.outcome is None:
            raise RuntimeError("the attack is not over")
        return self.outcome


@contextmanager
def attacked(
    name: str, checkpoint: Path, *flags: str, body_limit: int | None = None
) -> Iterator[Attacked]:
    """Run and watch `attend serve` with its defaults and these flags.

    body_limit  bytes of the largest body, by default that of JSON
    """
    limit: int = body_limit or Settings.model_fields["max_body_bytes"].default
    port, admin = free_port(), free_port()
    command = [
        str(Path(sys.executable).with_name("attend")), "serve", "--checkpoint", str(checkpoint),
        "--admin-port", str(admin), *flags, "--port",
    ]  # fmt: skip
    with tempfile.NamedTemporaryFile() as log:
        process = start_at(Server("attend serve", "", command), port, log.fileno())
        try:
            _warm(port)
            server = Attacked(port, process.pid, Seen())
            before = memory(process.pid, "VmRSS")
            with probing(port) as public, probing(admin) as private:
                yield server
                working = _seconds_until_idle(process.pid)
            late, latest = max(server.seen.answers, default=(0.0, ""))
            server.outcome = Outcome(
                name,
                server.seen,
                max(*public.seconds, *private.seconds),
                max(0.0, late),
                latest,
                memory(process.pid, "VmHWM") - before,
                3 * limit + SPARE_BYTES,
                working,
                len(_FAILURE.findall(Path(log.name).read_bytes())),
            )
        finally:
            stop(process)


def _warm(port: int) -> None:
    """Translate twice, so that one-time work is done and the engines have allocated a batch."""
    sentences = "\n".join(read_sentences(FIXTURE))
    connection = http.client.HTTPConnection(HOST, port, timeout=300)
    for _ in range(2):
        body = json.dumps({"text": sentences, "source": "en", "target": "fr"})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        if connection.getresponse().read() == b"":
            raise RuntimeError("the server does not answer")
    connection.close()


def _seconds_until_idle(pid: int) -> float:
    """Return the seconds until a process uses less than a tenth of a core."""
    began = time.perf_counter()
    used = _cpu_seconds(pid)
    while time.perf_counter() - began < 60:
        time.sleep(0.5)
        if (now := _cpu_seconds(pid)) - used < 0.05:
            break
        used = now
    return time.perf_counter() - began - 0.5


def _cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
