"""Tracing: identifiers in the log and spans at a collector, neither with any text."""

import gzip
import io
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise

import pytest
import structlog
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app import __version__
from app.observe.logs import configure_logs
from app.observe.tracing import SHUTDOWN_SECONDS, SpanExport, trace_id
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine

SECRET = "xyxxy"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "header",
    ["", "00", TRACE, f"00-{TRACE.upper()}-00f067aa0ba902b7-01", PARENT[:-1], PARENT + SECRET,
     f"00-{'0' * 32}-00f067aa0ba902b7-01"],
)  # fmt: skip
def test_an_invalid_traceparent_starts_no_trace(header: str) -> None:
    assert trace_id(header) is None


def test_a_traceparent_names_its_trace_and_later_versions_may_have_more_fields() -> None:
    assert trace_id(PARENT) == TRACE
    assert trace_id("01" + PARENT[2:] + "-more") == TRACE


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    yield stream
    logging.getLogger().handlers = []
    logging.getLogger().setLevel(logging.WARNING)
    structlog.reset_defaults()


async def test_only_lines_of_a_request_have_its_ids(serve: Serve, logged: io.StringIO) -> None:
    configure_logs("debug", stream=logged)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    async with serve(FakeEngine()) as client:
        headers = {"traceparent": PARENT, "X-Request-ID": "mine"}
        body = {"text": SECRET, "target": "fr"}
        await client.post("/translate", json=body, headers=headers)
        await client.get("/info")
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    traced = [line for line in lines if line.get("trace_id") == TRACE]
    assert [(line["path"], line["request_id"]) for line in traced] == [("/translate", "mine")]
    assert [line["level"] for line in lines if line.get("path") == "/startupz"][:1] == ["debug"]
    [other] = [line for line in lines if line.get("path") == "/info"]
    assert "trace_id" not in other
    assert SECRET not in logged.getvalue()


def test_a_console_is_for_people(logged: io.StringIO) -> None:
    configure_logs("info", "console", stream=logged)
    structlog.get_logger().info("ready", model="en-fr")
    [line] = logged.getvalue().splitlines()
    assert "ready" in line
    assert "model=en-fr" in line
    assert not line.startswith("{")


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """The address of a collector and the requests it received."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_spans_reach_the_collector_without_text(serve: Serve, logged: io.StringIO) -> None:
    configure_logs("info", stream=logged)
    with collector() as (endpoint, received):
        async with serve(FakeEngine(), otlp_endpoint=endpoint) as client:
            body = {"text": SECRET, "target": "fr"}
            headers = {"traceparent": PARENT}
            url = f"/translate?q={SECRET}"
            assert (await client.post(url, json=body, headers=headers)).status_code == 200
            await client.get("/readyz")
    spans = [
        span
        for request in received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    by_name = {span.name: span for span in spans}
    stages = ["tokenise", "queue", "inference", "detokenise"]
    assert sorted(by_name) == sorted(["POST /translate", *stages])  # probes have no span
    span = by_name["POST /translate"]
    assert {one.trace_id.hex() for one in spans} == {TRACE}
    within = [by_name[stage] for stage in stages]
    assert {one.parent_span_id for one in within} == {span.span_id}
    assert all(
        one.end_time_unix_nano == following.start_time_unix_nano
        for one, following in pairwise(within)
    )
    assert within[-1].end_time_unix_nano <= span.end_time_unix_nano
    resource = received[0].resource_spans[0].resource
    attributes = {attribute.key: attribute.value.string_value for attribute in resource.attributes}
    assert (attributes["service.name"], attributes["service.version"]) == ("attend", __version__)
    assert SECRET not in str(received)
    requests = [json.loads(line) for line in logged.getvalue().splitlines() if "/translate" in line]
    assert TRACE in {line.get("trace_id") for line in requests}


def test_a_missing_collector_does_not_delay_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        spans = SpanExport(f"http://127.0.0.1:{silent.getsockname()[1]}")
        spans.provider.get_tracer("test").start_span("one").end()
        began = time.monotonic()
        spans.stop()
        assert time.monotonic() - began < SHUTDOWN_SECONDS + 10
