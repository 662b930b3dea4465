"""`attend serve` as its users run it: a process, a port, signals and exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ATTEND = Path(sys.executable).with_name("attend")
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")
} | {"OMP_NUM_THREADS": "1"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(checkpoint: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    port = free_port()
    process = subprocess.Popen(
        [ATTEND, "serve", "--checkpoint", checkpoint, "--port", str(port), *flags],
        env=ENVIRONMENT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            wait_until_ready(process, client)
            yield process, client
    finally:
        process.kill()
        process.communicate()


def wait_until_ready(process: subprocess.Popen[str], client: httpx.Client) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    pytest.fail(f"not ready; exit code {process.poll()}")


def failing(*flags: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ATTEND, "serve", "--port", "0", *flags],
        env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_translates_and_stops_on_sigterm_after_finishing_what_was_admitted(
    tiny_checkpoint: Path,
) -> None:
    with serving(tiny_checkpoint) as (process, client), ThreadPoolExecutor() as pool:
        answer = client.post("/translate", json={"text": "The house.", "target": "fr"})
        assert answer.json()["model"] == "tiny"
        slow = {
            "text": ["the cat sees the old dog and the house " * 2] * 80,
            "target": "fr", "beam_size": 8, "max_target_tokens": 100,
        }  # fmt: skip
        admitted = pool.submit(client.post, "/translate", json=slow)
        time.sleep(0.3)
        assert not admitted.done()
        process.send_signal(signal.SIGTERM)
        assert len(admitted.result().json()["translations"]) == 80
        _, logged = process.communicate(timeout=30)
    assert process.returncode == 0
    lines = [json.loads(line) for line in logged.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests if line["path"] == "/translate"] == [200, 200]
    assert "house" not in logged


def test_a_client_that_leaves_frees_its_place(tiny_checkpoint: Path) -> None:
    with serving(tiny_checkpoint, "--max-concurrent-requests", "1") as (process, client):
        slow = {"text": ["the cat sees the old dog " * 3] * 80, "target": "fr", "beam_size": 8}
        with pytest.raises(httpx.ReadTimeout):
            client.post("/translate", json=slow, timeout=0.3)
        quick = {"text": "cat", "target": "fr", "beam_size": 1}
        end = time.monotonic() + 5
        while (response := client.post("/translate", json=quick)).status_code == 429:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert response.status_code == httpx.codes.OK
        process.send_signal(signal.SIGTERM)
        _, logged = process.communicate(timeout=30)
    statuses = [json.loads(line).get("status") for line in logged.splitlines()]
    assert 499 in statuses


def test_a_checkpoint_that_cannot_be_loaded_is_exit_1_and_one_line(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    truncated = tmp_path / "truncated"
    shutil.copytree(tiny_checkpoint, truncated)
    weights = truncated / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    for folder, named in ((tmp_path / "missing", "missing"), (truncated, "model.safetensors")):
        result = failing("--checkpoint", folder)
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        last = result.stderr.splitlines()[-1]
        assert last.startswith("attend: ")
        assert named in last


@pytest.mark.parametrize(
    ("flags", "environment", "named"),
    [
        (["--precision", "int8"], {}, "'precision'"),
        (["--port", "http"], {}, "'port'"),
        (["--device", "abacus"], {}, "device 'abacus'"),
        ([], {"ATTEND_THREADS": "none"}, "'threads'"),
    ],
)
def test_a_bad_setting_is_exit_2_and_one_line(
    flags: list[str], environment: dict[str, str], named: str
) -> None:
    result = failing(*flags, **environment)
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert named in line


def test_an_address_that_is_taken_is_exit_1_and_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = failing("--port", str(taken.getsockname()[1]))
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("attend: cannot listen on 127.0.0.1, port ")


def test_help_has_an_example_and_every_setting() -> None:
    result = failing("--help")
    assert result.returncode == 0
    assert "Example: attend serve" in result.stdout
    assert "ATTEND_MAX_BATCH_TOKENS" in result.stdout
