"""`attend serve`: checkpoints in, an HTTP server out."""

from __future__ import annotations

import gc
import socket
import sys
from functools import partial
from typing import Any

import click
import uvicorn
from fastapi import FastAPI

from app.cli.import_cache import checkpoint_folder
from app.cli.main import Failure
from app.errors import SettingsError
from app.loading import load_runtime
from app.main import create_admin_app, create_app
from app.observe.logs import configure_logs
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.server.connections import ConnectionLimits, TimedProtocol
from app.server.gate import admit_all
from app.server.process import AdminServer, Server
from app.settings import Settings, env_name
from model.engine.device import pick_device
from model.errors import ConfigError


class BadSettings(Failure):
    """A setting that cannot be: one line, exit code 2."""

    exit_code = 2


def _with_settings(command: click.Command) -> click.Command:
    """A flag for every setting, `--max-batch-tokens` for `max_batch_tokens`."""
    for name, field in Settings.model_fields.items():
        repeated = name == "checkpoint"
        default = "" if field.default is None or repeated else f"; default: {field.default}"
        flag = "--" + name.replace("_", "-")
        text = f"{field.description}  [{env_name(name)}{default}]"
        if field.annotation is bool:
            option = click.Option([f"{flag}/--no-{flag[2:]}"], help=text, default=None)
        else:
            metavar = "DIR" if repeated else "VALUE"
            option = click.Option([flag], help=text, metavar=metavar, multiple=repeated)
        command.params.append(option)
    return command


@_with_settings
@click.command(
    epilog="Example: attend serve --checkpoint checkpoints/en-fr --host 0.0.0.0 --port 8000"
)
def serve(**flags: Any) -> None:
    """Serve checkpoints over HTTP until SIGTERM or Ctrl-C.

    With several checkpoints, a request's languages choose; a pair that none translates but two do
    in a row is translated by both. A flag beats its environment variable. Admitted requests are
    finished before the server stops.
    """
    try:
        settings = Settings.parse(**{k: v for k, v in flags.items() if v not in (None, ())})
        pick_device(settings.device)
    except (SettingsError, ConfigError) as error:
        raise BadSettings(str(error)) from None
    listener = listen(settings.host, settings.port)
    admin_listener = None
    if settings.admin_port is not None:
        admin_listener = listen(settings.admin_host, settings.admin_port)
    configure_logs(settings.log_level, settings.log_format)
    failures: list[BaseException] = []

    def give_up(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    app = create_app(settings, load, give_up, spare_the_collector)
    server = make_server(app, settings, admin_listener)
    sys.setswitchinterval(SWITCH_INTERVAL)
    server.run([listener])
    if failures:
        raise failures[0]


SWITCH_INTERVAL = 0.001
"""Seconds after which the event loop has to give the interpreter's lock to an engine that waits
for it, idle, and needs it briefly. Python's own choice, 5 ms, is as long as an engine's step."""

COLLECT_AFTER = 200_000
"""New objects, more than all requests have that are admitted at a time: a collection goes through
them all, which takes 50 to 100 ms, and finds nothing, since no request leaves cycles behind."""

KEEP_ALIVE = 75
"""Seconds that an idle connection is kept: more than proxies and load balancers do (60), which else
send a request into a connection that is just being closed, and answer 502."""


def make_server(
    app: FastAPI, settings: Settings, admin_listener: socket.socket | None = None
) -> Server:
    """The HTTP server of the application, with its admin port if there is a socket for that."""
    config = partial(
        uvicorn.Config,
        http=TimedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    limits = ConnectionLimits(
        settings.head_timeout, settings.body_timeout, settings.max_connections,
        settings.write_timeout, settings.max_unsent_bytes,
    )  # fmt: skip
    admin = None
    if admin_listener:
        beside = config(create_admin_app(app), lifespan="off", timeout_graceful_shutdown=1)
        admin = AdminServer(beside, limits), admin_listener
    return Server(
        config(
            app, timeout_graceful_shutdown=settings.shutdown_timeout, timeout_keep_alive=KEEP_ALIVE
        ),
        limits,
        app.state.lifecycle,
        settings.drain_delay,
        admin=admin,
        # What pages of other origins may read is said by middleware.
        refusal=admit_all if settings.cors_origins else app.state.overload.refusal,
    )


def load(settings: Settings, metrics: Metrics) -> Runtime:
    """With Marian folders imported first."""
    folders = tuple(checkpoint_folder(folder, settings.cache) for folder in settings.checkpoint)
    return load_runtime(settings.model_copy(update={"checkpoint": folders}), metrics)


def spare_the_collector() -> None:
    """Set aside what lives as long as the process: modules, torch's above all, and the model.

    A full collection that goes through all of it holds up every request in flight for 0.1 to 0.2 s.
    The others go through what is of requests, and after every 700 objects cost 7 % of the requests
    that get done.
    """
    gc.unfreeze()  # a reload leaves models behind
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that an address that cannot be had is told at once. Raises `Failure`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise Failure(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    # Connections inherit it. asyncio would set it, but not where the socket's protocol number is
    # 0, as it is here; without it an answer's body waits 40 ms for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
