"""A server under attack: watches its probes, its memory and its log."""

import http.client
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import click
import httpx

from app.settings import Settings
from benchmarks.clients import probing
from benchmarks.load import HOST
from benchmarks.report import Cell
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.server import Server, attend_command, free_port, memory, start_at, stop

PROBE_LIMIT = 1.0
"""Maximum seconds for /livez."""

GRACE = 1.0
"""Maximum seconds by which an answer may exceed its deadline."""

SPARE_BYTES = 120_000_000
"""Memory that an attack may use in addition to three bodies of the largest size: the sentence cache
has 32 MB, the engines' keys and values up to 80 MB."""

AT_A_TIME = 4
"""Requests of parsers' attacks that are sent at a time."""

_FAILURE = re.compile(rb"Traceback|\"level\": ?\"(?:error|critical)\"")

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
    """A server, the results of the requests of an attack, and at its end the effect on the server.

    bound     maximum of `grown`
    answers   seconds after the deadline, and a description of the request
    failed    connections without an answer
    left      clients that disconnected before the answer
    probe     seconds of the longest /livez on either port
    grown     growth of the peak of resident memory in bytes
    working   seconds during which the server was busy after the last client
    failures  errors and tracebacks in the log
    """

    name: str
    bound: int
    port: int = 0
    pid: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    answers: list[tuple[float, str]] = field(default_factory=list)
    failed: int = 0
    left: int = 0
    probe: float = float("inf")
    grown: int = 0
    working: float = 0.0
    failures: int = 0

    def n_sockets(self) -> int:
        n = 0
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                n += str(link.readlink()).startswith("socket:")
        return n

    @property
    def latest(self) -> tuple[float, str]:
        """The latest answer; 0 seconds if none was late."""
        return max([(0.0, ""), *self.answers])

    @property
    def violations(self) -> list[str]:
        """Descriptions of the bounds that do not hold."""
        late, request = self.latest
        bounds = {
            f"/livez took {self.probe:.2f} s": self.probe <= PROBE_LIMIT,
            f"an answer {late:.2f} s late: {request}": late <= GRACE,
            f"{self.grown / 1e6:.0f} MB beyond the start": self.grown <= self.bound,
            f"requests without an answer: {self.failed}": not self.failed,
            f"failures in the log: {self.failures}": not self.failures,
        }
        return [violation for violation, holds in bounds.items() if not holds]

    def row(self) -> dict[str, Cell]:
        counts = sorted(self.statuses.items())
        values = (
            self.name, self.statuses.total() + self.failed + self.left, self.left,
            ", ".join(f"{n} × {status}" for status, n in counts), self.probe, self.latest[0],
            self.grown / 1e6, self.bound / 1e6, self.working, "NO" if self.violations else "yes",
        )  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))


@contextmanager
def attacked(
    name: str, checkpoint: Path, *flags: str, body_limit: int | None = None
) -> Iterator[Attacked]:
    """Run and watch `attend serve` with its defaults and these flags.

    body_limit  bytes of the largest body, by default that of JSON
    """
    limit: int = body_limit or Settings.model_fields["max_body_bytes"].default
    attack = Attacked(name, 3 * limit + SPARE_BYTES, free_port())
    admin = free_port()
    command = attend_command(checkpoint, "--admin-port", str(admin), *flags)
    with tempfile.NamedTemporaryFile() as log:
        process = start_at(Server("attend serve", "", command), attack.port, log.fileno())
        try:
            attack.pid = process.pid
            _warm(attack.port)
            before = memory(process.pid, "VmRSS")
            with probing(attack.port) as public, probing(admin) as private:
                yield attack
                attack.working = _seconds_until_idle(process.pid)
            attack.probe = max(*public.seconds, *private.seconds)
            attack.grown = memory(process.pid, "VmHWM") - before
            attack.failures = len(_FAILURE.findall(Path(log.name).read_bytes()))
        finally:
            stop(process)


def exchange(
    request: httpx.Request,
    what: str,
    deadline: float,
    attacked: Attacked,
    *,
    leaves: bool = False,
    printed: Container[int] = (500,),
) -> None:
    """Send a request, and read its answer to the end or disconnect.

    printed  statuses whose answers are printed
    """
    connection = http.client.HTTPConnection(HOST, attacked.port, timeout=deadline + 60)
    try:
        connection.request("POST", request.url.path, request.read(), dict(request.headers))
        began = time.perf_counter()
        if leaves:
            time.sleep(0.5)
            attacked.left += 1
            return
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        attacked.failed += 1
        click.echo(f"{what}: {type(error).__name__}")
        return
    finally:
        connection.close()
    attacked.answers.append((time.perf_counter() - began - deadline, what))
    attacked.statuses[answer.status] += 1
    if answer.status in printed:
        click.echo(f"{what}: {answer.status} {content[:300]!r}")


def _warm(port: int) -> None:
    """Translate twice, so that one-time work is done and the engines have allocated a batch."""
    body = {"text": "\n".join(read_sentences(FIXTURE)), "source": "en", "target": "fr"}
    for _ in range(2):
        httpx.post(f"http://{HOST}:{port}/translate", json=body, timeout=300)


def _seconds_until_idle(pid: int) -> float:
    """Return the seconds until a process uses less than a tenth of a core."""
    began = time.perf_counter()
    used = cpu_seconds(pid)
    while time.perf_counter() - began < 60:
        time.sleep(0.5)
        if (now := cpu_seconds(pid)) - used < 0.05:
            break
        used = now
    return time.perf_counter() - began - 0.5


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, in user and kernel mode."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
