"""Requests that cost the server more than the client.

In each attack, clients repeat one or several requests until they time out or the server closes the
connection.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from benchmarks.attacked import Attacked, attacked
from benchmarks.load import HOST

N_CONNECTIONS = 200
SECONDS = 5.0
TIMEOUT = 2.0
"""Seconds during which a client reads answers."""

DISCONNECT_AFTER = 0.3
"""Seconds after which a client disconnects while its request is processed."""


def _head(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: a", *headers, "", ""]).encode()


def _post(*headers: str, body: bytes = b"") -> bytes:
    return _head("POST /translate", "Content-Type: application/json", *headers) + body


def _sampled(**fields: object) -> bytes:
    text = "The house is green. " * 50
    fields = {"text": text, "source": "en", "target": "fr", "temperature": 1.5} | fields
    body = json.dumps(fields).encode()
    return _post(f"Content-Length: {len(body)}", body=body)


def _chunked(*parts: bytes) -> bytes:
    return _post("Transfer-Encoding: chunked", body=b"".join(parts))


DISCONNECTING = {"sampling, left": _sampled(), "a stream of samples, left": _sampled(stream=True)}
ATTACKS: Mapping[str, bytes] = DISCONNECTING | {
    "many headers": _head("GET /info", *["a:"] * 15_000),
    "headers without end": _head("GET /info", *["a:"] * 100_000),
    "long headers": _head("GET /info", *["a: " + "b" * 8_000] * 7),
    "a long query": _head("POST /translate?" + "a&" * 29_900, "Content-Length: 0"),
    "a pipeline of probes": _head("GET /livez") * 6_000,
    "a pipeline of requests": _head("GET /info") * 6_000,
    "a pipeline of texts": _sampled() * 200,
    "chunks of a byte": _chunked(b"1\r\n \r\n" * 300_000),
    "chunks with extensions": _chunked((b"1;" + b"a" * 1_000 + b"\r\n \r\n") * 2_000),
    "a chunk longer than it says": _chunked(b"1\r\nabc\r\n"),
    "a chunk of 2**68 bytes": _chunked(b"ffffffffffffffff0\r\na\r\n"),
    "trailers without end": _chunked(b"0\r\n", b"a:\r\n" * 100_000),
    "a body longer than it says": _post("Content-Length: 2", body=b"{}" + b"x" * 100_000),
    "a body shorter than it says": _post("Content-Length: 2000000", body=b"{}"),
    "an invalid length": _post("Content-Length: 1e9", body=b"{}"),
    "a length of 20 digits": _post("Content-Length: " + "9" * 20, body=b"{}"),
    "two lengths": _post("Content-Length: 2", "Content-Length: 3", body=b"{}"),
    "a length and chunks": _post("Content-Length: 2", "Transfer-Encoding: chunked", body=b"0"),
}
"""Name → bytes to send."""


def attacked_by(
    name: str, checkpoint: Path, *, n_connections: int = N_CONNECTIONS, seconds: float = SECONDS
) -> Attacked:
    """Send an attack's bytes from all connections for some seconds."""
    with attacked(name, checkpoint) as attack:
        attack.left += asyncio.run(flood(attack.port, name, seconds, n_connections))
    return attack


async def flood(port: int, name: str, seconds: float, n_connections: int) -> int:
    """Return how often an attack was sent."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    timeout = DISCONNECT_AFTER if name in DISCONNECTING else TIMEOUT
    n_sent = 0

    async def client() -> None:
        nonlocal n_sent
        while loop.time() < until:
            writer: asyncio.StreamWriter | None = None
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(timeout):
                    reader, writer = await asyncio.open_connection(HOST, port)
                    n_sent += 1
                    writer.write(ATTACKS[name])
                    await writer.drain()
                    while await reader.read(2**16):
                        pass
            if writer:
                writer.transport.abort()

    async with asyncio.TaskGroup() as clients:
        for _ in range(n_connections):
            clients.create_task(client())
    return n_sent
