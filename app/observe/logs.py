"""Log lines on stderr, of attend and of libraries in one format: JSON or for people."""

import logging
import sys
import traceback
from contextlib import suppress
from typing import Any, Literal, TextIO, cast

import structlog

_log = structlog.get_logger()


LogFormat = Literal["auto", "json", "console"]


def is_json(log_format: LogFormat, stream: TextIO = sys.stderr) -> bool:
    """Whether log lines in this format are JSON."""
    return log_format == "json" or (log_format == "auto" and not stream.isatty())


class _Lossy:
    """A stream that loses lines rather than requests if its terminal is gone or the disk full."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        with suppress(OSError):
            self._stream.write(line)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def configure_logs(
    level: str, log_format: LogFormat = "auto", *, stream: TextIO = sys.stderr
) -> None:
    """Log one line per event of at least this severity, with the ids of its request.

    json     one object per line
    console  for people, in colour on a terminal
    auto     console on a terminal, else json
    """
    render: Any = structlog.dev.ConsoleRenderer(colors=stream.isatty())
    if is_json(log_format, stream):
        render = structlog.processors.JSONRenderer(ensure_ascii=True)
    common: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # attend's own lines bypass the standard library, which would double their cost.
    structlog.configure(
        processors=[*common, structlog.processors.format_exc_info, render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _Lossy(stream))),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                render,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


def log_failure(error: BaseException) -> None:
    """Log an internal error, with the types and locations of its causes."""
    causes = []
    cause: BaseException | None = error
    while cause is not None:
        frames = traceback.extract_tb(cause.__traceback__)
        lines = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        causes.append({"type": type(cause).__qualname__, "traceback": lines})
        cause = cause.__cause__ or cause.__context__
    _log.error("failure", causes=causes)
