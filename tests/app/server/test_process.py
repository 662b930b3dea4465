import asyncio
import resource
import socket

import pytest
import uvicorn
import uvloop
from starlette.responses import PlainTextResponse
from structlog.testing import capture_logs

from app.cli.serve import listen
from app.server.connections import ConnectionLimits, TimedProtocol
from app.server.process import (
    ACCEPTED_AT_A_TIME,
    RESERVED,
    AdminServer,
    affordable_connections,
    copied,
)

N = 4 * ACCEPTED_AT_A_TIME


async def turns_until_all_are_connected(n_copies: int) -> int:
    """Listen with N connections waiting, and stop listening afterwards."""
    config = uvicorn.Config(
        PlainTextResponse("a"), http=TimedProtocol, ws="none", lifespan="off", log_config=None
    )
    server = AdminServer(config, ConnectionLimits(2 * N))
    listener = listen("127.0.0.1", 0)
    address = listener.getsockname()
    running = asyncio.create_task(server.serve(copied([listener], n_copies)))
    while not server.started:
        await asyncio.sleep(0)
    clients = [socket.create_connection(address) for _ in range(N)]
    n_turns = 0
    while len(server.server_state.connections) < N:
        n_turns += 1
        await asyncio.sleep(0)
    for client in clients:
        client.close()
    server.should_exit = True
    await running
    with socket.socket() as late:
        assert late.connect_ex(address) != 0
    return n_turns


def test_a_probe_does_not_wait_until_all_connections_before_it_are_served() -> None:
    assert (
        uvloop.run(turns_until_all_are_connected(ACCEPTED_AT_A_TIME)) <= N / ACCEPTED_AT_A_TIME + 2
    )


UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("limits", "n_open", "allowed", "soft_after"),
    [
        ((1024, 4096), 10, 1000, 1000 + 10 + 16 + RESERVED),
        ((1024, UNLIMITED), 10, 1000, 1000 + 10 + 16 + RESERVED),
        ((65_536, 65_536), 10, 1000, None),
        ((UNLIMITED, UNLIMITED), 10, 1000, None),
        ((64, 64), 10, 64 - 10 - 16 - RESERVED, 64),
        ((64, 100), 10, 100 - 10 - 16 - RESERVED, 100),
        ((20, 20), 10, 1, 20),
    ],
)
def test_connections_follow_the_limit_on_open_files(
    limits: tuple[int, int],
    n_open: int,
    allowed: int,
    soft_after: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, to: changed.append(to))
    monkeypatch.setattr("os.listdir", lambda _: [""] * n_open)
    with capture_logs() as logged:
        assert affordable_connections(1000, n_listening=16) == allowed
    assert [soft for soft, _ in changed] == ([] if soft_after is None else [soft_after])
    assert [line["max_connections"] for line in logged] == ([allowed] if allowed < 1000 else [])


def test_a_limit_that_the_system_does_not_raise_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS reports no hard limit, but refuses more than about 10,240."""

    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, UNLIMITED))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr("os.listdir", lambda _: [""] * 10)
    assert affordable_connections(1000, n_listening=16) == 256 - 10 - 16 - RESERVED
