"""Private parts of uvicorn that `app.server` uses: these tests fail if a new version renames or
changes any of them."""

import asyncio
import inspect
import re

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import Server, ServerState

from app.server.connections import ConnectionLimits, Connections, TimedProtocol
from app.server.process import AdminServer, LimitedServer
from app.server.process import Server as OurServer

PARAMETERS = {
    (HttpToolsProtocol, "__init__"): ["self", "config", "server_state", "app_state", "_loop"],
    (HttpToolsProtocol, "connection_made"): ["self", "transport"],
    (HttpToolsProtocol, "connection_lost"): ["self", "exc"],
    (HttpToolsProtocol, "data_received"): ["self", "data"],
    (HttpToolsProtocol, "pause_writing"): ["self"],
    (HttpToolsProtocol, "resume_writing"): ["self"],
    (HttpToolsProtocol, "on_message_begin"): ["self"],
    (HttpToolsProtocol, "on_url"): ["self", "url"],
    (HttpToolsProtocol, "on_header"): ["self", "name", "value"],
    (HttpToolsProtocol, "on_headers_complete"): ["self"],
    (HttpToolsProtocol, "on_message_complete"): ["self"],
    (HttpToolsProtocol, "on_response_complete"): ["self"],
    (HttpToolsProtocol, "send_400_response"): ["self", "msg"],
    (ServerState, "__init__"): ["self"],
    (Server, "__init__"): ["self", "config"],
    (Server, "run"): ["self", "sockets"],
    (Server, "serve"): ["self", "sockets"],
    (Server, "startup"): ["self", "sockets"],
    (Server, "shutdown"): ["self", "sockets"],
    (Server, "on_tick"): ["self", "counter"],
    (Server, "handle_exit"): ["self", "sig", "frame"],
    (Server, "capture_signals"): ["self"],
}
"""Every method that is overridden or called with `super()`."""

OURS = {TimedProtocol, Connections, LimitedServer, AdminServer, OurServer}
THEIRS = {HttpToolsProtocol, ServerState, Server}


@pytest.mark.parametrize(("of", "name"), PARAMETERS, ids=lambda one: getattr(one, "__name__", one))
def test_overridden_methods_have_the_expected_parameters(of: type, name: str) -> None:
    assert list(inspect.signature(getattr(of, name)).parameters) == PARAMETERS[of, name]


def test_no_other_method_is_overridden() -> None:
    overridden = {
        (theirs, name)
        for ours in OURS
        for theirs in THEIRS.intersection(ours.__mro__)
        for name in vars(ours)
        if inspect.isfunction(vars(ours)[name]) and name in vars(theirs)
    }
    assert overridden <= PARAMETERS.keys()
    assert [name for _, name in overridden if re.match(r"_[^_]", name)] == []


async def test_attributes_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def app(scope: object, receive: object, send: object) -> None: ...

    async def run(cycle: object, app: object) -> None: ...

    monkeypatch.setattr(RequestResponseCycle, "run_asgi", run)
    config = uvicorn.Config(
        app, http=TimedProtocol, ws="none", lifespan="off", log_config=None, proxy_headers=False
    )
    state = Connections(ConnectionLimits(1))
    protocol = HttpToolsProtocol(config, state, {})
    protocol.connection_made(asyncio.Transport())
    protocol.data_received(b"GET /a HTTP/1.1\r\nHost: b\r\n\r\n")
    assert state.connections == {protocol}
    assert state.default_headers == []
    assert config.timeout_keep_alive == 5
    assert protocol.config is config
    assert protocol.loop is asyncio.get_running_loop()
    assert protocol.headers == [(b"host", b"b")]
    cycle = protocol.cycle
    assert isinstance(cycle, RequestResponseCycle)
    assert cycle.scope["path"] == "/a"
    assert cycle.response_started is False
    assert cycle.disconnected is False
    assert isinstance(cycle.message_event, asyncio.Event)
    await asyncio.gather(*state.tasks)
    server = Server(config)
    assert (server.started, server.should_exit, type(server.server_state)) == (
        False, False, ServerState,
    )  # fmt: skip
