"""`attend serve`: a checkpoint in, an HTTP server out."""

from __future__ import annotations

import signal
import socket
from typing import Any

import click
import uvicorn

from app.cli.main import Failure
from app.errors import SettingsError
from app.logs import configure_logs
from app.main import create_app
from app.settings import Settings, env_name
from model.device import pick_device
from model.errors import ConfigError


class BadSettings(Failure):
    """A setting that cannot be: one line, exit code 2."""

    exit_code = 2


def _with_settings(command: click.Command) -> click.Command:
    """A flag for every setting, `--max-batch-tokens` for `max_batch_tokens`."""
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"; default: {field.default}"
        if name == "checkpoint":
            default = ""
        command.params.append(
            click.Option(
                ["--" + name.replace("_", "-")],
                help=f"{field.description}  [{env_name(name)}{default}]",
                metavar="DIR" if name == "checkpoint" else "VALUE",
            )
        )
    return command


@_with_settings
@click.command(
    epilog="Example: attend serve --checkpoint checkpoints/en-fr --host 0.0.0.0 --port 8000"
)
def serve(**flags: Any) -> None:
    """Serve a checkpoint over HTTP until SIGTERM or Ctrl-C.

    A flag beats its environment variable. Admitted requests are finished before the server stops.
    """
    try:
        settings = Settings.parse(**{k: v for k, v in flags.items() if v is not None})
        pick_device(settings.device)
    except (SettingsError, ConfigError) as error:
        raise BadSettings(str(error)) from None
    listener = _listen(settings.host, settings.port)
    configure_logs(settings.log_level)
    failures: list[BaseException] = []

    def give_up(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings, give_up=give_up),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=settings.shutdown_timeout,
        )
    )
    # uvicorn raises the signal that stopped it once more at the end, when all is well and done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    server.run(sockets=[listener])
    if failures:
        raise failures[0]


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that an address that cannot be had is told at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise Failure(f"cannot listen on {host}, port {port}: {error.strerror}") from None
