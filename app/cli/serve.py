"""`attend serve`: serves checkpoints over HTTP."""

import errno
import gc
import socket
import sys
from contextlib import suppress
from functools import partial
from typing import IO, Any

import click
import structlog
import uvicorn
from fastapi import FastAPI

from app.cli import options
from app.cli.main import NOT_ENOUGH_MEMORY, Failure
from app.errors import AppError, EngineFailedError, SettingsError
from app.hub.import_cache import checkpoint_folder
from app.loading import load_runtime
from app.main import create_admin_app, create_app
from app.memory import give_back, keep_few_heaps
from app.observe.logs import LogFormat, configure_logs, is_json
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.server.connections import ConnectionLimits, TimedProtocol
from app.server.process import ACCEPTED_AT_A_TIME, AdminServer, Server, affordable_connections
from app.settings import Settings, env_name, unknown_variables
from model.checkpoint.shelf_folder import find_checkpoints
from model.engine.device import pick_devices
from model.errors import ConfigError, ModelError

_log = structlog.get_logger()


class FailedStart(Failure):
    """A failure that is logged if logs are JSON, so that all lines are; else one line as usual."""

    def __init__(self, reason: str, log_format: LogFormat) -> None:
        super().__init__(reason)
        self._log_format = log_format

    def show(self, file: IO[Any] | None = None) -> None:
        if is_json(self._log_format):
            with suppress(MemoryError, RuntimeError):  # a log needs memory for its lock
                configure_logs("critical", self._log_format)
                _log.critical("cannot start", reason=" ".join(self.format_message().split()))
                return
        super().show(file)


class BadSettings(FailedStart):
    """An invalid setting."""

    exit_code = 2


REPEATED = {"checkpoint": "DIR", "pin": "NAME"}
"""Settings whose flags may be repeated, with the flags' metavariables."""


def _with_settings(command: click.Command) -> click.Command:
    """Add a flag for every setting, such as `--max-batch-tokens` for `max_batch_tokens`."""
    for name, field in Settings.model_fields.items():
        repeated = name in REPEATED
        default = "" if field.default is None or repeated else f"; default: {field.default}"
        flag = "--" + name.replace("_", "-")
        text = f"{field.description}  [{env_name(name)}{default}]"
        if field.annotation is bool:
            option = click.Option([f"{flag}/--no-{flag[2:]}"], help=text, default=None)
        else:
            metavar = REPEATED.get(name, "VALUE")
            option = click.Option([flag], help=text, metavar=metavar, multiple=repeated)
        command.params.append(option)
    return command


@_with_settings
@click.command(epilog="Example: attend serve --checkpoint checkpoints/en-fr --host 0.0.0.0")
def serve(**flags: Any) -> None:
    """Serve checkpoints over HTTP until SIGTERM or Ctrl-C.

    Without --checkpoint and --models, it serves the models that `attend pull` has fetched into the
    user's data folder, or the shipped checkpoint if there are none.

    With several checkpoints, the languages of a request select one; a pair that only two in
    sequence can translate uses both. With --models DIR, every model in DIR is loaded by the first
    request for it; the least recently used are unloaded to stay within --model-memory. A flag
    overrides its environment variable. Admitted requests are finished before the server stops.
    """
    log_format: LogFormat = "auto"
    try:
        settings = Settings.parse(**{k: v for k, v in flags.items() if v not in (None, ())})
        log_format = settings.log_format
        settings = or_pulled_models(settings)
        pick_devices(settings.device)
    except (SettingsError, ConfigError) as error:
        raise BadSettings(str(error), log_format) from None
    try:
        _serve(settings)
    except (AppError, ModelError, Failure, MemoryError, OSError, RuntimeError) as error:
        if (reason := fatal_reason(error)) is None:
            raise
        raise FailedStart(reason, log_format) from None


def fatal_reason(error: Exception) -> str | None:
    """Return in one line why the server cannot start; None for an unexpected error."""
    if isinstance(error, EngineFailedError) and isinstance(error.__cause__, Exception):
        return fatal_reason(error.__cause__) or str(error)
    if isinstance(error, (AppError, ModelError, Failure)):
        return str(error)
    if (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or str(error) in ("can't start new thread", "can't allocate lock")
    ):
        return f"{NOT_ENOUGH_MEMORY}: {str(error) or type(error).__name__}"
    return None


def _serve(settings: Settings) -> None:
    listener = listen(settings.host, settings.port)
    admin_listener = None
    if settings.admin_port is not None:
        admin_listener = listen(settings.admin_host, settings.admin_port)
    configure_logs(settings.log_level, settings.log_format)
    for variable, meant in unknown_variables().items():
        _log.warning("no such setting", variable=variable, **({"meant": meant} if meant else {}))
    failures: list[BaseException] = []

    def give_up(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    host, port, *_ = listener.getsockname()
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

    hint = (
        f"\nattend: ready at {address} (Ctrl-C stops). In another terminal, try\n"
        f'    attend translate --url {address} "Hello!"\n'
    )
    hints = [hint] if sys.stderr.isatty() else []

    def on_ready() -> None:
        spare_the_collector()
        while hints:  # not again after a reload
            click.echo(hints.pop(), err=True)

    app = create_app(settings, load, give_up, on_ready)
    app.state.lifecycle.address = address
    server = make_server(app, settings, admin_listener)
    sys.setswitchinterval(SWITCH_INTERVAL)
    keep_few_heaps()
    server.run([listener])
    if failures:
        raise failures[0]


def or_pulled_models(settings: Settings) -> Settings:
    """Return settings that serve the user's folder of models, unless others are given or none is.

    `attend pull` fetches models into that folder by default.
    """
    folder = options.shelf_folder()
    if settings.pull and settings.models is None:  # which fills it
        own = settings.checkpoint if "checkpoint" in settings.model_fields_set else ()
        return settings.model_copy(update={"models": folder, "checkpoint": own})
    if not settings.model_fields_set.isdisjoint({"checkpoint", "models"}) or not folder.is_dir():
        return settings
    models, _ = find_checkpoints(folder)
    return settings.model_copy(update={"models": folder, "checkpoint": ()}) if models else settings


SWITCH_INTERVAL = 0.001
"""Seconds after which the event loop must release the GIL to a waiting engine. Python's default,
5 ms, is as long as an engine step."""

COLLECT_AFTER = 200_000
"""New objects before a collection, more than all admitted requests have: a collection traverses
all objects, takes 50 to 100 ms, and finds nothing, since no request leaves cycles behind."""

CONNECTIONS_PER_REQUEST = 2
"""Connections for each concurrent request: clients keep idle ones."""

KEEP_ALIVE = 75
"""Seconds that idle connections stay open: longer than in proxies and load balancers (60), which
would otherwise send requests into a closing connection and respond with 502."""


def make_server(
    app: FastAPI, settings: Settings, admin_listener: socket.socket | None = None
) -> Server:
    """Return the HTTP server of the application, with an admin port if given a socket for it."""
    config = partial(
        uvicorn.Config,
        http=TimedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    n_listening = ACCEPTED_AT_A_TIME + (admin_listener is not None)
    maximum = CONNECTIONS_PER_REQUEST * settings.max_concurrent_requests
    limits = ConnectionLimits(affordable_connections(maximum, n_listening))
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
    )


def load(settings: Settings, metrics: Metrics) -> Runtime:
    """Import other projects' models, fetch missing ones if the settings ask for it, load them."""
    checkpoint_of = partial(checkpoint_folder, cache=settings.cache)
    folders = tuple(map(checkpoint_of, settings.checkpoint))
    settings = settings.model_copy(update={"checkpoint": folders})
    if settings.pull:
        from app.cli.pull import pull_missing

        pull_missing(settings)
    return load_runtime(settings, metrics, checkpoint_of)


def spare_the_collector() -> None:
    """Exempt from collection the objects that live as long as the process: modules and the model.

    A full collection of all of them delays every request in flight by 0.1 to 0.2 s. Collections of
    the younger generations after every 700 objects would cost 7 % of the throughput.
    """
    gc.unfreeze()  # a reload leaves old models
    gc.collect()
    give_back()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def listen(host: str, port: int) -> socket.socket:
    """Bind a socket early, so that an unavailable address is reported at once. Raises `Failure`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # repeats the address
        raise Failure(f"cannot listen on {host}, port {port}: {reason}") from None
    # Connections inherit it. asyncio does not set it if the socket's protocol number is 0, as
    # here; without it, a response body waits 40 ms for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
