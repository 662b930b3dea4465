"""Tracing: the trace ID for the log, and the export of spans.

FastAPI creates one span per request; this module exports them by OTLP over HTTP, which requires
the extra `otel`. A span has method, route, status and times, but no text: the query, which in one
dialect may contain it, is omitted.
"""

import re
import threading
import time
from typing import Any

from opentelemetry import trace

from app import __version__
from app.errors import SettingsError
from app.observe.timings import Timings

SHUTDOWN_SECONDS = 1.0
"""Time to send the remaining spans when the server stops."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")


def trace_id(traceparent: str) -> str | None:
    """Return 32 hexadecimal digits from the request's span, else from the caller's header, if any.

    https://www.w3.org/TR/trace-context/#traceparent-header
    """
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        return format(span.trace_id, "032x")
    match = _TRACEPARENT.fullmatch(traceparent)
    return match[1] if match else None


def record_stages(tracer: trace.Tracer | None, timings: Timings) -> None:
    """Record a span for each stage of a request that has been answered, within its current span.

    Stages follow one another, up to now. If texts were processed concurrently, each stage lasts as
    long as its longest, as in Server-Timing, so that the first may begin a little early.
    """
    if tracer is None or not trace.get_current_span().is_recording():
        return
    stages = {
        "tokenise": timings.tokenize,
        "queue": timings.queue,
        "inference": timings.decode,
        "detokenise": timings.detokenize,
    }
    start = time.time_ns() - int(1e9 * sum(stages.values()))
    for name, seconds in stages.items():
        end = start + int(1e9 * seconds)
        tracer.start_span(name, start_time=start).end(end)
        start = end


class SpanExport:
    """Sends spans to a collector from a separate thread. Raises `SettingsError`."""

    def __init__(self, endpoint: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise SettingsError(
                "'otlp_endpoint': requires OpenTelemetry's exporter: "
                "pip install opentelemetry-exporter-otlp-proto-http"
            ) from None

        class ForgetQuery(SpanProcessor):
            """Removes the query before other processors see it."""

            def on_start(self, span: Span, parent_context: Any = None) -> None:  # noqa: ARG002
                if "url.query" in (span.attributes or ()):
                    span.set_attribute("url.query", "")

            def on_end(self, span: ReadableSpan) -> None:
                """Nothing."""

        exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=SHUTDOWN_SECONDS)
        self.provider = TracerProvider(
            resource=Resource.create({"service.name": "attend", "service.version": __version__}),
            shutdown_on_exit=False,
        )
        self.provider.add_span_processor(ForgetQuery())
        self.provider.add_span_processor(BatchSpanProcessor(exporter))

    def stop(self) -> None:
        """Send the remaining spans, for at most `SHUTDOWN_SECONDS`. Blocks."""
        stopping = threading.Thread(target=self.provider.shutdown, daemon=True)
        stopping.start()
        stopping.join(SHUTDOWN_SECONDS)
