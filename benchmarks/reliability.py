"""Reliability tests: overload, slow clients, SIGTERM, a reload, kill -9, a poisoned request.

python -m benchmarks.reliability --threads 1
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from benchmarks.bench import CLIENTS, DEADLINE, PROBE_TIMEOUT, Bench
from benchmarks.connection import HOST
from benchmarks.crowd import Crowd, p99, probing
from benchmarks.finding import Finding
from benchmarks.options import (
    benchmark,
    checkpoint_option,
    json_option,
    sentences_option,
    threads_option,
)
from benchmarks.overload import overload
from benchmarks.poison import poisoned_server
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import read_sentences
from benchmarks.server import free_port, is_ready, running, start_at

SHUTDOWN = 10.0
SILENT = "none after the start"
COLUMNS = {
    "Scenario": "", "Measure": "", "Seen": ",.1f", "Rounds": "", "Must be": "", "Holds": "",
}  # fmt: skip
NOTES = ("`Rounds`: the sorted values of the rounds, if `Seen` is their median.",)


def sigterm(bench: Bench) -> list[Finding]:
    """Stop a server under load: it answers all admitted requests and exits in time."""
    with tempfile.TemporaryFile() as log:
        port = free_port()
        flags = ("--log-level", "info", "--shutdown-timeout", f"{SHUTDOWN:g}")
        process = start_at(bench.server(*flags), port, log.fileno())
        crowd = Crowd(port, bench.requests)

        async def stop() -> float:
            async with crowd.of(CLIENTS):
                await asyncio.sleep(bench.seconds)
                began = time.perf_counter()
                process.send_signal(signal.SIGTERM)
                await asyncio.to_thread(process.wait, 60)
                return time.perf_counter() - began

        seconds = asyncio.run(stop())
        log.seek(0)
        statuses = [
            line["status"]
            for line in map(json.loads, log.read().splitlines())
            if line.get("path") == "/translate"
        ]
    lost = len([status for status in statuses if status not in (200, 503)])
    lost += abs(statuses.count(200) - crowd.statuses["200"])
    return [
        Finding("SIGTERM under load", "requests answered", crowd.statuses["200"], 100, least=True),
        Finding("SIGTERM under load", "admitted requests lost", lost, 0),
        Finding("SIGTERM under load", "seconds to the end", seconds, SHUTDOWN + 2),
        Finding("SIGTERM under load", "exit code", abs(process.returncode), 0),
    ]


def reload(bench: Bench) -> list[Finding]:
    """Reload the models twice during requests."""
    admin = free_port()
    reload_seconds: list[float] = []

    async def load(port: int) -> Crowd:
        crowd = Crowd(port, bench.requests)
        async with crowd.of(CLIENTS, stay=True):
            for _ in range(2):
                await asyncio.sleep(bench.seconds / 3)
                began = time.perf_counter()
                status = await asyncio.to_thread(_post_reload, admin)
                reload_seconds.append(time.perf_counter() - began)
                crowd.statuses["reload failed"] += status != http.client.OK
            await asyncio.sleep(bench.seconds / 3)
        return crowd

    with running(bench.server("--admin-port", str(admin))) as server:
        with probing(server.port) as probes:
            crowd = asyncio.run(load(server.port))
        after = server.resident() / 1e6
    return [
        Finding(
            "two reloads under load", "requests answered", crowd.statuses["200"], 100, least=True
        ),
        Finding("two reloads under load", "requests failed", crowd.n_errors, 0),
        Finding("two reloads under load", "seconds of a reload", max(reload_seconds), 30),
        Finding("two reloads under load", "request p99, ms", p99(crowd.latencies), 1000 * DEADLINE),
        Finding("two reloads under load", "/livez p99, ms", p99(probes.seconds), PROBE_TIMEOUT),
        Finding("two reloads under load", "resident MB at the end", after, 1000),
    ]


def killed(bench: Bench) -> list[Finding]:
    """Kill the server with kill -9 and restart it, as a supervisor would."""
    port = free_port()
    server = bench.server()
    process = start_at(server, port, subprocess.DEVNULL)
    crowd = Crowd(port, bench.requests)

    async def kill() -> tuple[subprocess.Popen[bytes], float]:
        async with crowd.of(CLIENTS, stay=True):
            await asyncio.sleep(bench.seconds / 3)
            process.kill()
            began = time.perf_counter()
            process.wait()
            again = await asyncio.to_thread(start_at, server, port, subprocess.DEVNULL)
            seconds = time.perf_counter() - began
            before = crowd.statuses["200"]
            await asyncio.sleep(bench.seconds / 3)
            crowd.statuses[SILENT] = int(crowd.statuses["200"] == before)
        return again, seconds

    again, seconds = asyncio.run(kill())
    again.terminate()
    again.wait(60)
    fine = ("200", "429", "503")
    wrong = sum(n for one, n in crowd.statuses.items() if one.isdigit() and one not in fine)
    return [
        Finding("kill -9 under load", "seconds until it is ready again", seconds, 10),
        Finding("kill -9 under load", "answers other than 200, 429, 503", wrong, 0),
        Finding("kill -9 under load", "no answer afterwards", crowd.statuses[SILENT], 0),
    ]


def poisoned(bench: Bench) -> list[Finding]:
    """Send one sentence on which the engine fails, together with others."""
    texts = list(dict.fromkeys(bench.texts))[:48]
    poison = "This sentence is poison."
    with poisoned_server(bench.checkpoint, bench.threads, poison) as port:
        while not is_ready(port):
            time.sleep(0.05)

        def ask(text: str) -> tuple[int, str]:
            connection = http.client.HTTPConnection(HOST, port, timeout=60)
            body = json.dumps({"text": text, **bench.fields})
            connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = json.loads(answer.read())
            connection.close()
            return answer.status, json.dumps(content.get("translations"))

        with ThreadPoolExecutor(len(texts) + 1) as pool:
            clean = list(pool.map(ask, texts))
            beside = list(pool.map(ask, [*texts[:24], poison, *texts[24:]]))
    status, _ = beside.pop(24)
    changed = sum(one != other for one, other in zip(clean, beside, strict=True))
    scenario = f"a poisoned request among {len(texts)}"
    return [
        Finding(scenario, "it failed", status != http.client.OK, 1, least=True),
        Finding(scenario, "others failed or changed", changed, 0),
    ]


SCENARIOS: dict[str, Callable[[Bench], list[Finding]]] = {
    "overload": overload,
    "sigterm": sigterm,
    "reload": reload,
    "kill": killed,
    "poison": poisoned,
}


def _post_reload(port: int) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=120)
    connection.request("POST", "/reload")
    status = connection.getresponse().status
    connection.close()
    return status


@benchmark
@checkpoint_option
@sentences_option
@click.option("--seconds", type=click.FloatRange(1), default=6.0)
@click.option("--rounds", type=click.IntRange(1), default=5, help="Of the overloads.")
@click.option("--only", type=click.Choice(list(SCENARIOS)), multiple=True, help="Scenarios to run.")
@threads_option
@json_option
def main(
    *,
    checkpoint: Path,
    sentences: Path,
    seconds: float,
    rounds: int,
    only: Sequence[str],
    threads: int,
    json_file: Path | None,
) -> None:
    """Test a server under production failures; exit with code 1 unless all bounds hold."""
    bench = Bench(checkpoint, read_sentences(sentences), threads, seconds, rounds)
    findings = [one for name in only or SCENARIOS for one in SCENARIOS[name](bench)]
    settings: dict[str, Cell] = {
        "checkpoint": checkpoint.name, "threads": threads, "seconds": seconds, "rounds": rounds,
        "beam": 4, "load average before": round(os.getloadavg()[2], 1),
    }  # fmt: skip
    rows = [finding.row() for finding in findings]
    publish(Report("reliability", "Reliability", settings, COLUMNS, rows, NOTES), json_file)
    sys.exit(0 if all(finding.holds for finding in findings) else 1)


if __name__ == "__main__":
    main()
