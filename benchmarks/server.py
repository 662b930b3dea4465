"""Server processes and their memory."""

import http.client
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.checkpoints import ctranslate2_folder
from benchmarks.load import HOST
from model.checkpoint.config import read_config
from model.checkpoint.reader import load_checkpoint

START_LIMIT = 120.0
POLL = 0.01
"""Seconds between polls of `Server.ready`: the resolution of start times."""


@dataclass(frozen=True)
class Server:
    """A command that serves POST /translate on the port appended to it.

    threads      as in `benchmarks.system.System`
    environment  variables, besides those of this process
    ready        path that responds with 200 when the server is ready
    text_field   the name of the request's field for the text
    """

    name: str
    threads: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: str = "/readyz"
    text_field: str = "text"


def attend_command(checkpoint: Path, *flags: str) -> list[str]:
    """Return the command of `attend serve`, to which the port is appended."""
    attend = str(Path(sys.executable).with_name("attend"))
    return [attend, "serve", "--checkpoint", str(checkpoint), *flags, "--port"]


def attend_server(checkpoint: Path, threads: int, precision: str, *flags: str) -> Server:
    """Return `attend serve` without its cache of sentences."""
    command = attend_command(
        checkpoint, "--threads", str(threads), "--precision", precision, "--log-level", "warning",
        "--sentence-cache-bytes", "0", *flags,
    )  # fmt: skip
    return Server(f"attend {precision}", str(threads), command)


def ctranslate2_servers(checkpoint: Path, work: Path, threads: int, beam: int) -> list[Server]:
    """Return `benchmarks.ct2_server` with both distributions of its threads."""
    model = ctranslate2_folder(load_checkpoint(checkpoint), work)
    return [
        Server(
            "CTranslate2 int8",
            f"{inter} × {intra}",
            [
                sys.executable, "-m", "benchmarks.ct2_server", "--model", str(model),
                "--checkpoint", str(checkpoint), "--inter-threads", str(inter),
                "--intra-threads", str(intra), "--beam", str(beam), "--port",
            ],
        )
        for inter, intra in sorted({(1, threads), (threads, 1)})
    ]  # fmt: skip


def request_fields(checkpoint: Path, beam: int) -> dict[str, str | int]:
    """Return the fields besides the text: the checkpoint's first direction."""
    source, target = read_config(checkpoint).directions[0]
    return {"source": source, "target": target, "beam_size": beam}


@dataclass(frozen=True)
class Running:
    """A ready server; `start` is the seconds from exec to the first 200 of /readyz."""

    server: Server
    port: int
    pid: int
    start: float

    def resident(self) -> int:
        return memory(self.pid, "VmRSS")

    def resident_peak(self) -> int:
        return memory(self.pid, "VmHWM")


def memory(pid: int, key: str) -> int:
    """Return a value of a process's `/proc/PID/status` in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return 1024 * int(re.findall(rf"^{key}:\s+(\d+) kB$", status, re.MULTILINE)[0])


@contextmanager
def running(server: Server) -> Iterator[Running]:
    """Start a server, wait until it is ready, and stop it at the end.

    Raises `RuntimeError` with its output.
    """
    port = free_port()
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        try:
            process = start_at(server, port, output.fileno())
        except RuntimeError as error:
            output.seek(0)
            text = output.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{error}: {text}") from None
        try:
            yield Running(server, port, process.pid, time.perf_counter() - began)
        finally:
            stop(process)


def start_at(server: Server, port: int, output: int) -> subprocess.Popen[bytes]:
    """Start a server on a port and wait until it is ready; its output goes to a file descriptor.

    Raises `RuntimeError` if it ends or takes too long. The caller stops it.
    """
    command, environment = [*server.command, str(port)], os.environ | server.environment
    process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    deadline = time.perf_counter() + START_LIMIT
    while not is_ready(port, server.ready):
        if process.poll() is not None or time.perf_counter() > deadline:
            stop(process)
            raise RuntimeError(f"{server.name} did not start")
        time.sleep(POLL)
    return process


def stop(process: subprocess.Popen[bytes]) -> None:
    """Terminate a process; kill it if it does not end."""
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return an unused port."""
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def is_ready(port: int, path: str = "/readyz") -> bool:
    """Whether a path on that port responds with 200."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
