"""A server under attack: what its probes, its other clients and its memory show meanwhile."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from app.settings import Settings
from benchmarks.beside import repeating
from benchmarks.connection import HOST
from benchmarks.crowd import probing
from benchmarks.report import Cell
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.server import Server, free_port, start_at

PROBE_LIMIT = 1.0
"""Seconds in which /livez has to answer, an orchestrator's timeout."""

GRACE = 1.0
"""Seconds after its deadline by which a request has to be answered."""

SPARE_BYTES = 100_000_000
"""Memory that an attack may take, besides three bodies of the largest size."""

_FAILURE = re.compile(rb"Traceback|\"level\": ?\"(?:error|critical)\"")


@dataclass
class Seen:
    """What happened to the requests of an attack.

    answers  when each came, seconds after its deadline, and of what
    broken   connections without an answer
    left     clients that left before it
    """

    statuses: Counter[int] = field(default_factory=Counter)
    answers: list[tuple[float, float, str]] = field(default_factory=list)
    broken: int = 0
    left: int = 0

    @property
    def n_sent(self) -> int:
        """Requests."""
        return self.statuses.total() + self.broken + self.left


class Waiting(NamedTuple):
    """Seconds, and for how many of them the event loop's thread was ready and had no core."""

    seconds: float
    waited: float = 0.0

    @property
    def own(self) -> float:
        """The server's own part."""
        return self.seconds - self.waited


@dataclass(frozen=True)
class Outcome:
    """What an attack did to its server.

    probe     the longest /livez on either port
    late      the latest answer, after its deadline, and `latest` which it was
    grown     bytes of the peak of resident memory beyond that before
    working   seconds for which the server worked on after the last client
    failures  lines of the log with an error or a traceback
    """

    name: str
    seen: Seen
    probe: Waiting
    late: Waiting
    latest: str
    grown: int
    bound: int
    working: float
    failures: int

    @property
    def broken(self) -> list[str]:
        """The promises that do not hold."""
        kept = {
            f"/livez took {self.probe.own:.2f} s": self.probe.own <= PROBE_LIMIT,
            f"an answer {self.late.own:.2f} s late: {self.latest}": self.late.own <= GRACE,
            f"{self.grown / 1e6:.0f} MB beyond the start": self.grown <= self.bound,
            f"{self.seen.broken} without an answer": not self.seen.broken,
            f"{self.failures} failures in the log": not self.failures,
        }
        return [promise for promise, holds in kept.items() if not holds]

    def row(self) -> dict[str, Cell]:
        """Return the row of the table."""
        counts = sorted(self.seen.statuses.items())
        return {
            "Attack": self.name,
            "Sent": self.seen.n_sent,
            "Left": self.seen.left,
            "Answers": ", ".join(f"{n} × {status}" for status, n in counts),
            "/livez, s": self.probe.seconds,
            "no core": self.probe.waited,
            "Late, s": self.late.seconds,
            "no core ": self.late.waited,
            "Grown, MB": self.grown / 1e6,
            "At most": self.bound / 1e6,
            "Works on, s": self.working,
            "Holds": "NO" if self.broken else "yes",
        }


COLUMNS = {
    "Attack": "", "Sent": ",", "Left": ",", "Answers": "", "/livez, s": ".2f", "no core": ".2f",
    "Late, s": ".2f", "no core ": ".2f", "Grown, MB": ".0f", "At most": ".0f",
    "Works on, s": ".1f", "Holds": "",
}  # fmt: skip
NOTES = (
    f"/livez: the longest on either port, at most {PROBE_LIMIT:g} s. Late: the latest answer after "
    f"its deadline, at most {GRACE:g} s. No core: for how long of either the event loop was ready "
    "and had no core, which does not count: the machine may be busy.",
    "Grown: the peak of the resident memory beyond that of the server before. Works on: after the "
    "last client is gone.",
)


@dataclass
class Attacked:
    """A server under attack; `outcome` once it is over."""

    port: int
    pid: int
    seen: Seen
    outcome: Outcome | None = None

    def n_sockets(self) -> int:
        """Return how many sockets the server has."""
        links = Path(f"/proc/{self.pid}/fd").iterdir()
        return sum(_target(link).startswith("socket:") for link in links)

    def concluded(self) -> Outcome:
        """Return the outcome, once the attack is over."""
        if self.outcome is None:
            raise RuntimeError("the attack did not end")
        return self.outcome


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


@contextmanager
def attacked(
    name: str, checkpoint: Path, *flags: str, body_limit: int | None = None
) -> Iterator[Attacked]:
    """Run `attend serve` with its defaults but for these flags, watch it, and draw conclusions.

    body_limit  bytes of the largest body, by default that of JSON
    """
    limit: int = body_limit or Settings.model_fields["max_body_bytes"].default
    port, admin = free_port(), free_port()
    with tempfile.NamedTemporaryFile() as log, ExitStack() as stack:
        process = stack.enter_context(_serving(checkpoint, port, admin, log.fileno(), flags))
        _warm(port)
        server = Attacked(port, process.pid, Seen())
        before = _memory(process.pid, "VmRSS")
        with ExitStack() as watching:
            probes = [watching.enter_context(probing(one)) for one in (port, admin)]
            delays = watching.enter_context(_delays(process.pid))
            yield server
            working = _works_on(process.pid)
        probed = [
            Waiting(seconds, _waited(delays, began, began + seconds))
            for one in probes
            for seconds, began in zip(one.seconds, one.began, strict=True)
        ]
        late = [
            (Waiting(seconds, _waited(delays, at - seconds, at)), what)
            for at, seconds, what in server.seen.answers
            if seconds > 0
        ]
        latest, what = max(late, key=lambda one: one[0].own, default=(Waiting(0.0), ""))
        server.outcome = Outcome(
            name,
            server.seen,
            max(probed, key=lambda one: one.own),
            latest,
            what,
            _memory(process.pid, "VmHWM") - before,
            3 * limit + SPARE_BYTES,
            working,
            len(_FAILURE.findall(Path(log.name).read_bytes())),
        )


@contextmanager
def _serving(
    checkpoint: Path, port: int, admin: int, log: int, flags: Sequence[str]
) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        str(Path(sys.executable).with_name("attend")), "serve", "--checkpoint", str(checkpoint),
        "--admin-port", str(admin), *flags, "--port",
    ]  # fmt: skip
    process = start_at(Server("attend serve", "", command), port, log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _warm(port: int) -> None:
    """Have the server do what it does only once, and its engines take the memory of a batch."""
    sentences = "\n".join(read_sentences(FIXTURE))
    connection = http.client.HTTPConnection(HOST, port, timeout=300)
    for _ in range(2):
        body = json.dumps({"text": sentences, "source": "en", "target": "fr"})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        if connection.getresponse().read() == b"":
            raise RuntimeError("the server does not answer")
    connection.close()


@contextmanager
def _delays(pid: int) -> Iterator[list[tuple[float, float]]]:
    """Record for how long the main thread of a process was ready and waited for a core."""
    found: list[tuple[float, float]] = []

    def look() -> None:
        with suppress(OSError):
            found.append((time.perf_counter(), _run_delay(pid)))

    with repeating(look, 0.05):
        yield found


def _run_delay(pid: int) -> float:
    """Seconds; the second number of the kernel's `schedstat`."""
    words = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()
    return int(words[1]) / 1e9


def _waited(delays: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """Return for how long it waited between two times, at least."""
    inside = [delay for at, delay in delays if start <= at <= end]
    return inside[-1] - inside[0] if inside else 0.0


def _works_on(pid: int) -> float:
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


def _memory(pid: int, key: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return 1024 * int(re.findall(rf"^{key}:\s+(\d+) kB$", status, re.MULTILINE)[0])
