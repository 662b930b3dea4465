"""Sends hostile requests to every route of `attend serve`, from 200 connections at once.

    python -m benchmarks.hostile_routes [--only /score …] [--seconds 5]
    python -m benchmarks.hostile_routes --cost [--checkpoint DIR]

Routes for texts get those of `benchmarks.hostile_inputs`, of the largest size, and the largest
number of short ones; other routes are requested repeatedly. Meanwhile
/livez is probed. The exit code is 1 unless every probe was answered within `PROBE_LIMIT`.

With --cost, the requests that need no key or are not charged are sent one after another, and the
exit code is 1 unless each takes at most `COST_LIMIT` of the server's processor time.
"""

import asyncio
import multiprocessing
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import click
import httpx

from app.settings import Settings
from app.web.site import shipped_site
from benchmarks.attacked import cpu_seconds
from benchmarks.clients import ClientPool, probing
from benchmarks.hostile_inputs import cases
from benchmarks.hostile_requests import largest
from benchmarks.load import HOST, Connection
from benchmarks.options import benchmark, checkpoint_option, json_option
from benchmarks.report import Cell, Report, publish
from benchmarks.server import Server, attend_command, free_port, running, start_at, stop

N_CONNECTIONS = 200
PROBE_LIMIT = 0.3
"""Maximum seconds for /livez."""

N_REQUESTS = 500
"""Requests of which the processor time is measured."""

COST_LIMIT = 0.3
"""Maximum milliseconds of processor time for a request that is not charged."""

DEADLINE = "5"
"""Deadline of a request in seconds."""

PAIR = {"source": "en", "target": "fr"}
TERMS = {"source_lang": "en", "target_lang": "fr", "entries_format": "tsv"}

Fields: TypeAlias = dict[str, Any]
"""Arguments of `httpx.Request`."""

ONE_TEXT: dict[str, Callable[[str], Fields]] = {
    "/translate": lambda text: {"json": {"text": text, **PAIR}},
    "/translate, html": lambda text: {"json": {"text": text, "format": "html", **PAIR}},
    "/translate, stream": lambda text: {"json": {"text": text, "stream": True, **PAIR}},
    "/translate, auto": lambda text: {"json": {"text": text, "source": "auto", "target": "fr"}},
    "/translate, attention": lambda text: {"json": {"text": text, "attention": {}, **PAIR}},
    "/translate, alignment": lambda text: {"json": {"text": text, "alignment": True, **PAIR}},
    "/translate, glossary": lambda text: {"json": {"text": text, "glossary": {"a": "b"}, **PAIR}},
    "/detect": lambda text: {"json": {"text": text}},
    "/score": lambda text: {"json": {"text": text, "translation": text, **PAIR}},
    "/score, long translation": lambda text: {"json": {"text": "a", "translation": text, **PAIR}},
    "/explain": lambda text: {"json": {"text": text, **PAIR}},
    "/explain, translation": lambda text: {"json": {"text": "a", "translation": text, **PAIR}},
    "/translate_file": lambda text: {"files": {"file": ("a.txt", _bytes(text))}, "data": PAIR},
    "/translate_file, .md": lambda text: {"files": {"file": ("a.md", _bytes(text))}, "data": PAIR},
    "/v2/translate": lambda text: {"json": {"text": [text], "target_lang": "FR"}},
    "/v2/document": lambda text: {
        "files": {"file": ("a.txt", _bytes(text))}, "data": {"target_lang": "FR"},
    },
    "/v2/glossaries": lambda text: {"json": {"name": "a", "entries": text, **TERMS}},
    "/v3/glossaries": lambda text: {
        "json": {"name": "a", "dictionaries": [{"entries": text, **TERMS}]}
    },
    "/language/translate/v2": lambda text: {"json": {"q": text, "target": "fr"}},
    "/language/translate/v2/detect": lambda text: {"json": {"q": text}},
    "/translate_a/single": lambda text: {"data": {"q": _bytes(text), "tl": "fr"}},
    "/imme": lambda text: {"json": {"text_list": [text], "target_lang": "fr"}},
    "/kiss": lambda text: {"json": {"text": text, "to": "fr"}},
    "/hcfy": lambda text: {"json": {"text": text, "destination": ["法语"]}},
    "/deeplx": lambda text: {"json": {"text": text, "target_lang": "FR"}},
    "/v1/chat/completions": lambda text: {
        "json": {"messages": [{"role": "user", "content": text}]}
    },
    "/suggest": lambda text: {"json": {"q": text, "s": text, **PAIR}},
}  # fmt: skip
"""Requests of a text, by path and variant."""

MANY_TEXTS: dict[str, Callable[[Sequence[str]], Fields]] = {
    "/translate": lambda texts: {"json": {"text": texts, **PAIR}},
    "/translate, auto": lambda texts: {"json": {"text": texts, "source": "auto", "target": "fr"}},
    "/detect": lambda texts: {"json": {"text": texts}},
    "/score": lambda texts: {"json": {"text": texts, "translation": texts, **PAIR}},
    "/translate_file": lambda texts: {
        "files": {"file": ("a.txt", "\n".join(texts).encode())}, "data": PAIR,
    },
    "/language/translate/v2": lambda texts: {"json": {"q": texts, "target": "fr"}},
    "/imme": lambda texts: {"json": {"text_list": texts, "target_lang": "fr"}},
    "/v3/glossaries": lambda texts: {
        "json": {"name": "a", "dictionaries": [{"entries": "\n".join(
            f"{text} {number}\tb" for number, text in enumerate(texts)
        ), **TERMS}]}
    },
}  # fmt: skip
"""Requests of many texts."""

FREE = (
    "GET /", "GET /docs", "GET /openapi.json", "GET /info", "GET /languages", "GET /metrics",
    "GET /readyz", "GET /livez", "GET /favicon.ico", "GET /health", "GET /frontend/settings",
    "GET /v2/languages", "GET /v2/usage", "GET /v2/glossaries", "GET /v3/languages",
    "GET /v2/glossary-language-pairs", "GET /v3/glossaries", "GET /v1/models",
    "GET /language/translate/v2/languages", "GET /startupz", "GET /status",
    f"GET /web/{shipped_site().digest}/main.js", "GET /nowhere", "GET /translate",
    "PUT /translate", "OPTIONS /translate", "POST /translate",
)  # fmt: skip
"""Requests without a body, which need no key or are not charged, or are refused."""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def attacks() -> Iterator[tuple[str, str, Iterator[bytes]]]:
    """Yield a method and path, the kind of request, and requests."""
    for name, fields in ONE_TEXT.items():
        texts = (case.make(largest(case)) for case in cases("text"))
        yield f"POST {name}", "one text", (post(name, fields(str(text))) for text in texts)
    n_texts: int = Settings.model_fields["max_texts"].default
    for name, for_texts in MANY_TEXTS.items():
        kinds = ("a", "a house.", "12.5", "« « «", "漢")
        yield (
            f"POST {name}", "many texts",
            (post(name, for_texts([kind] * n_texts)) for kind in kinds),
        )  # fmt: skip
    for name in FREE:
        yield name, "no body", iter([request_without_body(name)])


def request_without_body(name: str) -> bytes:
    """Return a request without a body, from its method and path."""
    method, path = name.split()
    return raw(httpx.Request(method, f"http://{HOST}{path}"))


def post(name: str, fields: Fields, deadline: str = DEADLINE) -> bytes:
    """Return a POST request to a path, from which a comma separates a variant."""
    url = f"http://{HOST}{name.partition(',')[0]}"
    return raw(httpx.Request("POST", url, headers={"X-Request-Timeout": deadline}, **fields))


def raw(request: httpx.Request) -> bytes:
    """Return the bytes of a request."""
    body = request.read()
    headers = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    return f"{request.method} {request.url.path} HTTP/1.1\r\n{headers}\r\n".encode() + body


def saturate(port: int, requests: Sequence[bytes], seconds: float) -> Counter[str]:
    """Send requests from all connections, without pause → answers by status."""

    async def run() -> Counter[str]:
        pool = ClientPool(port, requests)
        async with pool.run(N_CONNECTIONS, stay=True):
            await asyncio.sleep(seconds)
        return pool.statuses

    return asyncio.run(run())


def cost(port: int, pid: int, request: bytes) -> tuple[str, float]:
    """Repeat a request → its status, and the server's processor time in milliseconds."""

    async def ask(n_requests: int) -> str:
        connection = Connection(port)
        statuses = {await connection.ask(request) for _ in range(n_requests)}
        connection.close()
        return ", ".join(sorted(statuses))

    asyncio.run(ask(N_REQUESTS // 10))  # one-time initialisation
    before = cpu_seconds(pid)
    statuses = asyncio.run(ask(N_REQUESTS))
    return statuses, 1000 * (cpu_seconds(pid) - before) / N_REQUESTS


def costs(checkpoint: Path, only: Sequence[str]) -> list[dict[str, Cell]]:
    """Return a row for each request that needs no key or is not charged."""
    rows: list[dict[str, Cell]] = []
    with running(Server("attend serve", "", attend_command(checkpoint))) as server:
        for name in FREE:
            if only and not any(part in name for part in only):
                continue
            statuses, milliseconds = cost(server.port, server.pid, request_without_body(name))
            holds = "yes" if milliseconds <= COST_LIMIT else "NO"
            values = (name, statuses, milliseconds, holds)
            rows.append(dict(zip(COST_COLUMNS, values, strict=True)))
    return rows


COLUMNS = {"Request": "", "Kind": "", "Answers": "", "/livez, s": ".2f", "Holds": ""}
COST_COLUMNS = {"Request": "", "Status": "", "Processor time, ms": ".2f", "Holds": ""}


@benchmark
@checkpoint_option
@click.option("--only", multiple=True, help="Part of the names of routes [default: all].")
@click.option("--seconds", type=click.FloatRange(0.1), default=5.0, help="Per attack.")
@click.option("--cost", "of_cost", is_flag=True, help="Measure requests without charge.")
@json_option
def main(
    *,
    checkpoint: Path,
    only: Sequence[str],
    seconds: float,
    of_cost: bool,
    json_file: Path | None,
) -> None:
    """Attack every route; exit with code 1 unless /livez answers in time."""
    if of_cost:
        rows = costs(checkpoint, only)
        given: dict[str, Cell] = {"checkpoint": checkpoint.name, "requests": N_REQUESTS}
        name = "Processor time of requests without charge"
        publish(Report("free_routes", name, given, COST_COLUMNS, rows, ()), json_file)
        sys.exit(1 if any(row["Holds"] == "NO" for row in rows) else 0)
    port = free_port()
    process = start_at(
        Server("attend serve", "", attend_command(checkpoint)), port, subprocess.DEVNULL
    )
    rows = []
    try:
        # The clients are a process of their own: they must not delay the probes.
        with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as clients:
            for name, kind, requests in attacks():
                if only and not any(part in name for part in only):
                    continue
                with probing(port) as probes:
                    statuses = clients.submit(saturate, port, list(requests), seconds).result()
                longest = max(probes.seconds)
                answers = ", ".join(f"{n:,} × {status}" for status, n in sorted(statuses.items()))
                holds = "yes" if longest <= PROBE_LIMIT else "NO"
                values = (name, kind, answers, longest, holds)
                rows.append(dict(zip(COLUMNS, values, strict=True)))
                click.echo(f"{name}, {kind}: {longest:.2f} s; {answers}")
    finally:
        stop(process)
    settings: dict[str, Cell] = {"connections": N_CONNECTIONS, "seconds": seconds}
    publish(Report("hostile_routes", "Hostile routes", settings, COLUMNS, rows, ()), json_file)
    sys.exit(1 if any(row["Holds"] == "NO" for row in rows) else 0)


if __name__ == "__main__":
    main()
