import asyncio
import socket

import uvicorn
import uvloop
from starlette.responses import PlainTextResponse

from app.cli.serve import listen
from app.server.connections import ConnectionLimits, TimedProtocol
from app.server.process import ACCEPTED_AT_A_TIME, AdminServer, copied

N = 4 * ACCEPTED_AT_A_TIME


async def turns_until_all_are_in(n_copies: int) -> int:
    """With N connections waiting; afterwards nobody listens any more."""
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
    assert uvloop.run(turns_until_all_are_in(ACCEPTED_AT_A_TIME)) <= N / ACCEPTED_AT_A_TIME + 2
