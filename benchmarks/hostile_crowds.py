"""Crowds of clients: many long streams, and many answers that are not read."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

from app.server.connections import ConnectionLimits
from benchmarks.attacked import Attacked, Outcome, Seen, attacked
from benchmarks.connection import HOST

N_STREAMS, STREAM_CHARACTERS = 200, 98_000
N_UNREAD = 100

N_PROBES = 4
"""Maximum number of open connections of the probes."""


def crowd_of_streams(checkpoint: Path, deadline: float, n_streams: int = N_STREAMS) -> Outcome:
    """Request many long streams at once, and read them all."""
    sentence = "The dog number {n} saw the old house. "
    texts = [
        (sentence.format(n=n) * STREAM_CHARACTERS)[:STREAM_CHARACTERS] for n in range(n_streams)
    ]

    async def ask(port: int, text: str, seen: Seen) -> None:
        reader, writer = await asyncio.open_connection(HOST, port, limit=2**20)
        writer.write(_post({"text": text, "target": "fr", "stream": True}, deadline))
        began = time.perf_counter()
        status = (await reader.readline()).split()[1:2]
        while await reader.read(2**16):
            pass
        writer.close()
        seen.statuses[int(status[0])] += 1
        seen.answers.append((time.perf_counter() - began - deadline, "a stream"))

    async def ask_all(port: int, seen: Seen) -> None:
        await asyncio.gather(*(ask(port, text, seen) for text in texts))

    with attacked(f"{n_streams} streams of 98 kB", checkpoint) as server:
        asyncio.run(ask_all(server.port, server.seen))
    return server.concluded()


def crowd_that_does_not_read(
    checkpoint: Path, deadline: float, n_clients: int = N_UNREAD
) -> Outcome:
    """Request large answers, half of them as streams, and read none until they are closed."""
    large = {"text": ["a house"] * 10_000, "target": "fr", "beam_size": 1}
    limit = deadline + ConnectionLimits.write_timeout

    async def ask_all(server: Attacked) -> None:
        n_before = server.n_sockets()
        began = time.perf_counter()
        writers = []
        for number in range(n_clients):
            reader, writer = await asyncio.open_connection(HOST, server.port, limit=1024)
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(_post(large | {"stream": number % 2 == 0}, deadline))
            writers.append(writer)
        # Only the server can see that it closed a connection before unread data.
        while (n_open := server.n_sockets() - n_before) > N_PROBES and (
            time.perf_counter() - began < limit + 30
        ):
            await asyncio.sleep(0.5)
        late = time.perf_counter() - began - limit
        server.seen.answers.append((late, f"connections still open: {n_open}"))
        server.seen.left += n_clients
        for writer in writers:
            writer.transport.abort()

    with attacked(f"{n_clients} large answers, unread", checkpoint) as server:
        asyncio.run(ask_all(server))
    return server.concluded()


def _post(body: dict[str, object], deadline: float) -> bytes:
    content = json.dumps({"source": "en"} | body).encode()
    head = (
        f"POST /translate HTTP/1.1\r\nHost: attend\r\nContent-Type: application/json\r\n"
        f"X-Request-Timeout: {deadline:g}\r\nConnection: close\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


CROWDS: dict[str, Callable[[Path, float], Outcome]] = {
    "streams": crowd_of_streams,
    "unread": crowd_that_does_not_read,
}
