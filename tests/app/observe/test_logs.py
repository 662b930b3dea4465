import errno
import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from app.observe.logs import LogFormat, configure_logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class FullDisk(io.StringIO):
    is_full = True

    def write(self, text: str) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root, configuration = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.configure(**configuration)


@pytest.mark.parametrize(
    ("log_format", "stream", "is_json"),
    [
        ("auto", io.StringIO(), True),
        ("auto", Terminal(), False),
        ("json", Terminal(), True),
        ("console", io.StringIO(), False),
    ],
)
def test_lines_are_json_unless_people_read_them(
    log_format: LogFormat, stream: io.StringIO, is_json: bool
) -> None:
    configure_logs("info", log_format, stream=stream)
    structlog.get_logger().info("ready", model="tiny")
    logging.getLogger("uvicorn").warning("of a library")
    own, library = stream.getvalue().splitlines()
    for line, event in ((own, "ready"), (library, "of a library")):
        assert event in line
        assert line.startswith("{") == is_json
        if is_json:
            assert json.loads(line)["event"] == event


def test_a_line_that_cannot_be_written_is_lost_and_nothing_else() -> None:
    stream = FullDisk()
    configure_logs("info", stream=stream)
    structlog.get_logger().info("lost")
    stream.is_full = False
    structlog.get_logger().info("written")
    [line] = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "written"
