"""An `attend serve` process on a free port."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ATTEND = Path(sys.executable).with_name("attend")
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")
} | {"OMP_NUM_THREADS": "1"}


def free_port() -> int:
    """Return a port that the system gives to nobody else while this process runs.

    A server that asks for it by its number gets it, as long as it sets SO_REUSEADDR.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        if sys.platform == "linux":  # elsewhere the server would be refused, too
            probe.detach()  # stays bound
        return port


@contextmanager
def serving(
    checkpoint: Path | None, *flags: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    port = free_port()
    given: list[str | Path] = ["--checkpoint", checkpoint] if checkpoint else []
    process = subprocess.Popen(
        [ATTEND, "serve", *given, "--port", str(port), *flags],
        env=ENVIRONMENT | variables, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_until_ready(process, client)
            yield process, client
    finally:
        process.kill()
        process.communicate()


def wait_until_ready(process: subprocess.Popen[str], client: httpx.Client) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    pytest.fail(f"not ready; exit code {process.poll()}")
