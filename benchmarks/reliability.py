"""Reliability tests: overload, slow clients, SIGTERM, a reload, kill -9.

python -m benchmarks.reliability --threads 1
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import click
import httpx
from httpx import codes

from benchmarks.clients import ClientPool, probing
from benchmarks.load import HOST, percentile, request_bytes
from benchmarks.options import Setup, benchmark, setup_options
from benchmarks.overload import (
    BEAM,
    CLIENTS,
    COLUMNS,
    DEADLINE,
    NOTES,
    PROBE_TIMEOUT,
    ROUNDS,
    Finding,
    overload,
)
from benchmarks.report import Cell
from benchmarks.server import free_port, request_fields, running, start_at, stop
from benchmarks.shelf import shelf

SHUTDOWN = 10.0
UNRESPONSIVE = "none after the start"


def sigterm(setup: Setup, seconds: float) -> list[Finding]:
    """Stop a server under load: it answers all admitted requests and exits in time."""
    with tempfile.TemporaryFile() as log:
        port = free_port()
        flags = ("--log-level", "info", "--shutdown-timeout", f"{SHUTDOWN:g}")
        process = start_at(setup.server(*flags), port, log.fileno())
        pool = ClientPool(port, _requests(setup))

        async def stop_under_load() -> float:
            async with pool.run(CLIENTS):
                await asyncio.sleep(seconds)
                began = time.perf_counter()
                process.send_signal(signal.SIGTERM)
                await asyncio.to_thread(process.wait, 60)
                return time.perf_counter() - began

        stopping = asyncio.run(stop_under_load())
        log.seek(0)
        statuses = [
            line["status"]
            for line in map(json.loads, log.read().splitlines())
            if line.get("path") == "/translate"
        ]
    lost = len([status for status in statuses if status not in (200, 503)])
    lost += abs(statuses.count(200) - pool.statuses["200"])
    scenario = "SIGTERM under load"
    return [
        Finding(scenario, "requests answered", [pool.statuses["200"]], 100, least=True),
        Finding(scenario, "admitted requests lost", [lost], 0),
        Finding(scenario, "seconds to the end", [stopping], SHUTDOWN + 2),
        Finding(scenario, "exit code", [abs(process.returncode)], 0),
    ]


def reload(setup: Setup, seconds: float) -> list[Finding]:
    """Reload the models twice during requests."""
    admin = free_port()
    reload_seconds: list[float] = []

    async def load(port: int) -> ClientPool:
        pool = ClientPool(port, _requests(setup))
        async with pool.run(CLIENTS, stay=True):
            for _ in range(2):
                await asyncio.sleep(seconds / 3)
                began = time.perf_counter()
                async with httpx.AsyncClient(timeout=120) as client:
                    answer = await client.post(f"http://{HOST}:{admin}/reload")
                reload_seconds.append(time.perf_counter() - began)
                pool.statuses["reload failed"] += answer.status_code != codes.OK
            await asyncio.sleep(seconds / 3)
        return pool

    with running(setup.server("--admin-port", str(admin))) as server:
        with probing(server.port) as probes:
            pool = asyncio.run(load(server.port))
        after = server.resident() / 1e6
    scenario = "two reloads under load"
    return [
        Finding(scenario, "requests answered", [pool.statuses["200"]], 100, least=True),
        Finding(scenario, "requests failed", [pool.n_errors], 0),
        Finding(scenario, "seconds of a reload", [max(reload_seconds)], 30),
        Finding(scenario, "request p99, ms", [percentile(pool.latencies)], 1000 * DEADLINE),
        Finding(scenario, "/livez p99, ms", [percentile(probes.seconds)], PROBE_TIMEOUT),
        Finding(scenario, "resident MB at the end", [after], 1000),
    ]


def killed(setup: Setup, seconds: float) -> list[Finding]:
    """Kill the server with kill -9 and restart it, as a supervisor would."""
    port = free_port()
    server = setup.server()
    process = start_at(server, port, subprocess.DEVNULL)
    pool = ClientPool(port, _requests(setup))

    async def kill() -> tuple[subprocess.Popen[bytes], float]:
        async with pool.run(CLIENTS, stay=True):
            await asyncio.sleep(seconds / 3)
            process.kill()
            began = time.perf_counter()
            process.wait()
            again = await asyncio.to_thread(start_at, server, port, subprocess.DEVNULL)
            restarting = time.perf_counter() - began
            before = pool.statuses["200"]
            await asyncio.sleep(seconds / 3)
            pool.statuses[UNRESPONSIVE] = int(pool.statuses["200"] == before)
        return again, restarting

    again, restarting = asyncio.run(kill())
    stop(again)
    fine = ("200", "429", "503")
    wrong = sum(n for one, n in pool.statuses.items() if one.isdigit() and one not in fine)
    scenario = "kill -9 under load"
    return [
        Finding(scenario, "seconds until it is ready again", [restarting], 10),
        Finding(scenario, "answers other than 200, 429, 503", [wrong], 0),
        Finding(scenario, "no answer afterwards", [pool.statuses[UNRESPONSIVE]], 0),
    ]


def _requests(setup: Setup) -> list[bytes]:
    fields = request_fields(setup.checkpoint, BEAM)
    return [request_bytes({"text": text, **fields}) for text in setup.texts()]


SCENARIOS: dict[str, Callable[[Setup, float], list[Finding]]] = {
    "overload": overload,
    "sigterm": sigterm,
    "reload": reload,
    "kill": killed,
    "shelf": shelf,
}


@benchmark
@setup_options
@click.option("--seconds", type=click.FloatRange(1), default=6.0)
@click.option("--only", type=click.Choice(list(SCENARIOS)), multiple=True, help="Scenarios to run.")
def main(setup: Setup, *, seconds: float, only: Sequence[str]) -> None:
    """Test a server under production failures; exit with code 1 unless all bounds hold."""
    findings = [one for name in only or SCENARIOS for one in SCENARIOS[name](setup, seconds)]
    settings: dict[str, Cell] = {
        "seconds": seconds, "rounds": ROUNDS, "beam": BEAM,
        "load average before": round(os.getloadavg()[2], 1),
    }  # fmt: skip
    rows = [finding.row() for finding in findings]
    setup.publish("reliability", "Reliability", COLUMNS, rows, NOTES, **settings)
    sys.exit(0 if all(finding.holds for finding in findings) else 1)


if __name__ == "__main__":
    main()
