"""`attend serve` as a process: port, signals and exit codes."""

import errno
import json
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from app.cli import serve
from app.cli.serve import fatal_reason, listen, or_pulled_models
from app.errors import EngineFailedError
from app.settings import Settings
from tests.app.server_process import ATTEND, ENVIRONMENT, free_port, serving
from tests.firefox_model import write_registry

pytestmark = pytest.mark.usefixtures("kernels")


def failing(*flags: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ATTEND, "serve", "--port", "0", *flags],
        env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def fatal(result: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of a process that failed to start; all lines are JSON."""
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert (lines[-1]["event"], lines[-1]["level"]) == ("cannot start", "critical")
    reason: str = lines[-1]["reason"]
    return reason


def until_admitted(client: httpx.Client) -> None:
    end = time.monotonic() + 60
    while "attend_requests_admitted 1.0" not in client.get("/metrics").text:
        assert time.monotonic() < end


def test_sigterm_lets_admitted_requests_finish(tiny_checkpoint: Path) -> None:
    with (
        serving(tiny_checkpoint, "--threads", "1", "--sentence-cache-bytes", "0") as (
            process,
            client,
        ),
        ThreadPoolExecutor() as pool,
    ):
        answer = client.post("/translate", json={"text": "The house.", "target": "fr"})
        assert answer.json()["model"] == "tiny"
        slow = {
            "text": ["the cat sees the old dog and the house " * 2] * 50,
            "target": "fr", "beam_size": 8, "max_target_tokens": 100,
        }  # fmt: skip
        admitted = pool.submit(client.post, "/translate", json=slow)
        until_admitted(client)
        process.send_signal(signal.SIGTERM)
        assert len(admitted.result().json()["translations"]) == 50
        _, logged = process.communicate(timeout=120)
    assert process.returncode == 0
    lines = [json.loads(line) for line in logged.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests if line["path"] == "/translate"] == [200, 200]
    assert "house" not in logged


def test_the_checkpoint_flag_is_repeatable(row_of_checkpoints: tuple[Path, Path]) -> None:
    first, second = row_of_checkpoints
    with serving(first, "--checkpoint", str(second)) as (process, client):
        body = {"text": "chat", "source": "fr", "target": "de", "max_target_tokens": 4}
        answer = client.post("/translate", json=body).json()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert answer["model"] == "fr-en+en-de"
    assert process.returncode == 0


def test_a_marian_folder_is_cached(make_folder: Callable[..., Path], tmp_path: Path) -> None:
    with serving(make_folder(), "--cache", str(tmp_path / "cache")) as (_, client):
        info = client.get("/info").json()
    assert (info["model"], info["directions"]) == ("opus-mt", [["en", "fr"]])
    assert len(list((tmp_path / "cache" / "marian").iterdir())) == 1


def test_a_client_that_leaves_frees_its_slot(tiny_checkpoint: Path) -> None:
    flags = ("--max-concurrent-requests", "1", "--threads", "1", "--sentence-cache-bytes", "0")
    with serving(tiny_checkpoint, *flags) as (process, client):
        slow = {"text": ["the cat sees the old dog " * 3] * 200, "target": "fr", "beam_size": 8}
        body = json.dumps(slow).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address) as leaving:
            leaving.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
            until_admitted(client)
        quick = {"text": "cat", "target": "fr", "beam_size": 1}
        end = time.monotonic() + 60
        while (response := client.post("/translate", json=quick)).status_code == 429:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert response.status_code == httpx.codes.OK
        process.send_signal(signal.SIGTERM)
        _, logged = process.communicate(timeout=120)
    statuses = [json.loads(line).get("status") for line in logged.splitlines()]
    assert 499 in statuses


def test_damaged_files_are_reported_in_one_line(tiny_checkpoint: Path, tmp_path: Path) -> None:
    truncated = tmp_path / "truncated"
    shutil.copytree(tiny_checkpoint, truncated)
    weights = truncated / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert str(weights) in fatal(failing("--checkpoint", truncated))
    (tmp_path / "usage.sqlite").write_bytes(b"no database" * 1000)
    last = fatal(failing("--checkpoint", tiny_checkpoint, "--data", tmp_path))
    assert last.startswith("'data': ")
    assert "usage.sqlite" in last


def test_pulled_models_are_served(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("ATTEND_MODELS", "ATTEND_CHECKPOINT"):
        monkeypatch.delenv(name, raising=False)
    shelf = tmp_path / "attend" / "models"
    assert or_pulled_models(Settings.parse()).models is None
    shelf.mkdir(parents=True)
    (shelf / "not a model").mkdir()
    assert or_pulled_models(Settings.parse()).models is None
    shutil.copytree(tiny_checkpoint, shelf / "tiny")
    served = or_pulled_models(Settings.parse())
    assert (served.models, served.checkpoint) == (shelf, ())
    given = or_pulled_models(Settings.parse(checkpoint=(tiny_checkpoint,)))
    assert (given.models, given.checkpoint) == (None, (tiny_checkpoint,))
    monkeypatch.setenv("ATTEND_CHECKPOINT", str(tiny_checkpoint))
    assert or_pulled_models(Settings.parse()).models is None


def test_missing_models_are_fetched_before_the_server_is_ready(tmp_path: Path) -> None:
    registry = write_registry(tmp_path, ("en-fr", "fr-en"))
    port = free_port()
    process = subprocess.Popen(
        [ATTEND, "serve", "--port", str(port), "--languages", "fr,en", "--pull", registry,
         "--cache", tmp_path / "cache"],
        env=ENVIRONMENT | {"XDG_DATA_HOME": str(tmp_path)},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    waits = set()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            while process.poll() is None:
                try:
                    answer = client.get("/readyz")
                except httpx.TransportError:
                    time.sleep(0.02)
                    continue
                if answer.status_code == httpx.codes.OK:
                    break
                waits.add((answer.status_code, "retry-after" in answer.headers))
                time.sleep(0.05)
            body = {"text": "w7 w8", "source": "en", "target": "fr", "max_target_tokens": 4}
            translated = client.post("/translate", json=body)
    finally:
        process.terminate()
        _, logged = process.communicate(timeout=120)
    assert waits == {(503, True)}
    assert translated.json()["model"] == "firefox-en-fr", logged
    fetched = [line for line in logged.splitlines() if "models are being fetched" in line]
    assert len(fetched) == 2


@pytest.mark.parametrize(
    ("flags", "environment", "named"),
    [
        (["--device", "abacus"], {}, "device 'abacus'"),
        ([], {"ATTEND_THREADS": "none"}, "'threads'"),
    ],
)
def test_bad_settings_are_exit_2(flags: list[str], environment: dict[str, str], named: str) -> None:
    result = failing(*flags, **environment)
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert named in line


def test_connections_send_at_once_what_they_have() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_that_is_taken_exits_with_1_and_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = failing("--port", str(taken.getsockname()[1]))
    assert fatal(result).startswith("cannot listen on 127.0.0.1, port ")
    assert len(result.stderr.splitlines()) == 1


def test_for_people_the_reason_is_a_plain_line(tmp_path: Path) -> None:
    result = failing("--checkpoint", tmp_path / "none", "--log-format", "console")
    assert result.stderr.splitlines()[-1].startswith(f"attend: {tmp_path / 'none'}: no such folder")


def engine_failed(cause: Exception) -> EngineFailedError:
    error = EngineFailedError("the engine failed on this request")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        RuntimeError("can't allocate lock"),
        engine_failed(MemoryError("Unable to allocate 2 GiB")),
    ],
)
def test_a_shortage_of_memory_is_reported_in_one_line(error: Exception) -> None:
    reason = fatal_reason(error)
    assert reason
    assert reason.startswith("not enough memory")
    assert fatal_reason(RuntimeError("a bug")) is None
    assert fatal_reason(engine_failed(ValueError("a bug"))) == "the engine failed on this request"


def test_sigterm_ends_readiness_then_new_work_then_the_process(tiny_checkpoint: Path) -> None:
    with serving(tiny_checkpoint, "--threads", "1", "--drain-delay", "3") as (process, client):
        body = {"text": "The house.", "source": "en", "target": "fr"}
        client.post("/translate", json=body)  # the first takes long beside other work
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        while (answer := client.get("/readyz")).status_code == httpx.codes.OK:
            time.sleep(0.02)
        assert answer.json()["type"].endswith(":draining")
        assert client.post("/translate", json=body).status_code == httpx.codes.OK
        assert client.get("/livez").status_code == httpx.codes.OK
        assert process.wait(timeout=120) == 0
        assert time.monotonic() - began > 2.9


SLOW = {
    "text": ["the cat sees the old dog and the house " * 3] * 250, "target": "fr", "beam_size": 8,
    "max_target_tokens": 120,
}  # fmt: skip


def test_requests_beyond_the_limit_are_aborted(tiny_checkpoint: Path) -> None:
    flags = ("--threads", "1", "--shutdown-timeout", "1", "--sentence-cache-bytes", "0")
    with serving(tiny_checkpoint, *flags) as (process, client), ThreadPoolExecutor() as pool:
        future = pool.submit(client.post, "/translate", json=SLOW)
        until_admitted(client)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
        answer = future.result()
        _, logged = process.communicate(timeout=120)
    assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
    assert answer.json()["type"] == "urn:problem-type:attend:draining"
    assert "exception" not in logged


def test_a_second_signal_ends_it_at_once(tiny_checkpoint: Path) -> None:
    flags = ("--threads", "1", "--sentence-cache-bytes", "0")
    with serving(tiny_checkpoint, *flags) as (process, client), ThreadPoolExecutor() as p:
        future = p.submit(client.post, "/translate", json=SLOW)
        until_admitted(client)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 128 + signal.SIGTERM
        assert isinstance(future.exception(), httpx.TransportError)


def test_a_reload_by_signal_and_by_the_admin_port(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "served"
    shutil.copytree(tiny_checkpoint, folder)
    port = free_port()
    flags = ("--threads", "1", "--admin-port", str(port))
    with (
        serving(folder, *flags) as (process, client),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as admin,
    ):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"name": "second"}))
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 120
        while client.get("/info").json()["model"] != "second":
            assert time.monotonic() < end
            time.sleep(0.05)
        (folder / "config.json").write_text(json.dumps(config | {"name": "third"}))
        assert admin.post("/reload").json()["model"] == "third"
        (folder / "config.json").write_text("{}")
        assert admin.post("/reload").status_code == httpx.codes.INTERNAL_SERVER_ERROR
        assert client.get("/info").json()["model"] == "third"
        assert 'attend_reloads_total{outcome="done"} 2.0' in admin.get("/metrics").text
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0


def test_the_log_of_the_start_has_the_address_and_warnings(tiny_checkpoint: Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        ["bash", "-c", 'ulimit -n 64; exec "$@"', "-", ATTEND, "serve", "--checkpoint",
         tiny_checkpoint, "--threads", "1", "--port", str(port)],
        env=ENVIRONMENT | {"ATTEND_LOGLEVEL": "debug"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr
        lines: list[dict[str, object]] = []
        while not lines or lines[-1]["event"] != "ready":
            lines.append(json.loads(process.stderr.readline()))
        events = {line["event"]: line for line in lines}
        assert events["ready"]["address"] == f"http://127.0.0.1:{port}"
        assert events["no such setting"]["variable"] == "ATTEND_LOGLEVEL"
        assert events["no such setting"]["meant"] == "ATTEND_LOG_LEVEL"
        n_allowed = events["fewer connections"]["max_connections"]
        assert isinstance(n_allowed, int)
        assert 1 <= n_allowed < 64
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        end = time.monotonic() + 60
        while len(select.select(idle, [], [], 1)[0]) < len(idle) - n_allowed:  # closed again
            assert time.monotonic() < end
            time.sleep(0.02)
        with httpx.Client(timeout=60) as client:  # an idle connection is closed for it
            assert client.get(f"http://127.0.0.1:{port}/livez").status_code == 200
        for one in idle:
            one.close()
    finally:
        process.kill()
        process.communicate()


def test_a_reason_that_cannot_be_logged_is_a_plain_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_memory(*_: object) -> None:
        raise RuntimeError("can't allocate lock")

    monkeypatch.setattr(serve, "configure_logs", no_memory)
    serve.FailedStart("not enough memory", "json").show()
    assert capsys.readouterr().err == "attend: not enough memory\n"


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is Linux's")
def test_libraries_that_do_not_fit_end_the_start_in_one_line(tiny_checkpoint: Path) -> None:
    ended = subprocess.run(
        ["bash", "-c", 'ulimit -v 156000; exec "$@"', "-", ATTEND, "serve", "--checkpoint",
         tiny_checkpoint, "--port", str(free_port())],
        env=ENVIRONMENT | {"OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True,
        check=False, timeout=100,
    )  # fmt: skip
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith("attend: not enough memory, or a limit on it (ulimit -v, cgroups)")
