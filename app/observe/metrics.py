"""Prometheus metrics, following the conventions of text-embeddings-inference.

The values of labels are fixed when the server starts or loads its models: routes, reasons of the
error table, models. Nothing of a request becomes a label: no text, address, key or path.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from app.observe.timings import Timings


class RunningModel(NamedTuple):
    """A loaded model and its engine."""

    model: str
    engine: str
    device: str
    precision: str


class ModelMemory(NamedTuple):
    """A known model and its memory, 0 unless it is loaded."""

    model: str
    n_bytes: int


class Gauges(NamedTuple):
    """The current load over all models; `GAUGES` has the meaning of its numbers."""

    admitted: int = 0
    queue_size: int = 0
    queue_tokens: int = 0
    batch_size: int = 0
    batch_tokens: int = 0
    engines: int = 0
    models: tuple[RunningModel, ...] = ()
    memory: tuple[ModelMemory, ...] = ()


GAUGES = {
    "admitted": ("attend_requests_admitted", "Requests admitted and not yet answered"),
    "queue_size": ("attend_queue_size", "Sentences waiting for an engine"),
    "queue_tokens": ("attend_queue_tokens", "Source tokens of the waiting sentences"),
    "batch_size": ("attend_batch_current_size", "Sentences in the engines"),
    "batch_tokens": (
        "attend_batch_current_tokens",
        "Source tokens of the sentences in the engines",
    ),
    "engines": ("attend_engines", "Running engines"),
}
"""Name and meaning of the gauges that are one number."""


class GaugeCollector(Collector):
    """Collects the gauges that `read` returns."""

    def __init__(self) -> None:
        self.read: Callable[[], Gauges] = Gauges

    def collect(self) -> Iterator[GaugeMetricFamily]:
        gauges = self.read()
        for field, (name, meaning) in GAUGES.items():
            yield GaugeMetricFamily(name, meaning, getattr(gauges, field))
        models = GaugeMetricFamily(
            "attend_model", "1 for each model, with what runs it", labels=RunningModel._fields
        )
        for model in gauges.models:
            models.add_metric(model, 1)
        yield models
        memory = GaugeMetricFamily(
            "attend_model_memory_bytes",
            "Memory of each known model, 0 unless it is loaded",
            labels=("model",),
        )
        for one in gauges.memory:
            memory.add_metric([one.model], one.n_bytes)
        yield memory


DURATIONS = tuple(15e-6 * 1.5**i for i in range(35))
"""Upper bounds in seconds, 15 µs … 14.6 s."""

SIZES = tuple(float(2**i) for i in range(15))
"""Upper bounds for sentences, rows and tokens."""

EARLY = "refused-early"
"""The route label of requests rejected before routing."""

CLIENT_GONE = "client-gone"
DEADLINE = "deadline-exceeded"
"""Reasons for cancelling work in progress."""

EngineFailure = Literal["exception", "not-finite", "out-of-memory", "thread-died"]
"""The ways in which an engine fails."""

ENGINE_FAILURES: tuple[EngineFailure, ...] = get_args(EngineFailure)

RETRY_REASONS = ("placeholders", "glossary", "numbers")
"""The part of a segment that its translation lost or changed, which causes another search."""

_disable_created: Callable[[], None] = disable_created_metrics
"""Suffix of the `_created` series of each metric, which are omitted."""


Counters = Callable[[str], Counter]
"""The counter of a label value."""


class Metrics:
    """The metrics of one application. Thread-safe.

    Every series exists from the start, at 0: one that starts with the first failure would have no
    increase that `rate` could see.

    reasons     of failures
    rejections  of these, those that reject a request before any work
    """

    def __init__(self, reasons: Iterable[str] = (), rejections: Iterable[str] = ()) -> None:
        _disable_created()
        self._registry = CollectorRegistry()
        self._gauges = GaugeCollector()
        self._registry.register(self._gauges)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        # Requests
        self._requests = self._counters("request_count", "Requests, by route", "route")
        self._successes = self._counters("request_success", "Responses below 400", "route")
        self._failures = self._counters(
            "request_failure", "Other responses, by reason", "reason", (*reasons, CLIENT_GONE)
        )
        self._rejections = self._counters(
            "request_rejected", "Requests rejected before any work, by reason", "reason", rejections
        )
        self._cancellations = self._counters(
            "request_cancelled",
            "Requests whose work was cancelled, by reason",
            "reason",
            (CLIENT_GONE, DEADLINE),
        )
        self._duration = self._histogram("request_duration_seconds", "From request to response")
        self._stages = {
            stage: self._histogram(f"request_{stage}_duration_seconds", meaning)
            for stage, meaning in (
                ("tokenization", "Splitting and tokenising, per translation request"),
                ("queue", "Waiting for an engine, per translation request"),
                ("inference", "Encoding and decoding, per translation request"),
                ("detokenization", "Assembling the response, per translation request"),
            )
        }
        self._input = self._histogram(
            "request_input_tokens", "Source tokens, per translation request", SIZES
        )
        # Engines
        self._step = self._histogram("step_duration_seconds", "Duration of an engine's step")
        self._sentences = self._histogram("batch_size", "Sentences in a step", SIZES)
        self._rows = self._histogram("batch_rows", "Hypotheses in a step", SIZES)
        self._tokens = self._histogram("batch_tokens", "Source tokens in a step", SIZES)
        self._read = self._counter("tokens_read", "Source tokens of translated sentences")
        self._generated = self._counter("tokens_generated", "Target tokens of the best hypotheses")
        self.engine_failures = self._counters(
            "engine_failures", "Failures of engines, by kind", "kind", ENGINE_FAILURES
        )
        self.engine_restarts = self._counter(
            "engine_restarts", "Engine threads that died and were restarted"
        )
        self.retries = self._counters(
            "segment_retries", "Segments searched again, by reason", "reason", RETRY_REASONS
        )
        # Models
        self.reloads = self._counters(
            "reloads", "Reloads of the models, by outcome", "outcome", ("done", "failed")
        )
        self.model_requests = self._counters(
            "model_requests", "Uses of a model: one for each request, two by way of itself", "model"
        )
        self.model_evictions = self._counters(
            "model_evictions", "Models evicted from memory to load others", "model"
        )
        self._loads = Counter(
            "attend_model_loads",
            "Loads of models, by outcome",
            ("model", "outcome"),
            registry=self._registry,
        )
        self._load_duration = self._histogram(
            "model_load_duration_seconds", "Duration of loading a model, with its golden sentences"
        )
        self.expect_routes(())

    def expect_routes(self, routes: Iterable[str]) -> None:
        for route in (*routes, EARLY):
            self._requests(route)
            self._successes(route)

    def expect_models(self, models: Iterable[str]) -> None:
        for model in models:
            self.model_requests(model)
            self.model_evictions(model)
            for outcome in ("done", "failed"):
                self._loads.labels(model, outcome)

    def watch(self, gauges: Callable[[], Gauges]) -> None:
        self._gauges.read = gauges

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics in the format that `accept` prefers, and its media type."""
        encode, media_type = choose_encoder(accept)
        return encode(self._registry), media_type

    @property
    def load(self) -> tuple[int, int]:
        """Requests in progress, and target tokens generated since the start."""
        [tokens] = self._generated.collect()
        return self._gauges.read().admitted, int(tokens.samples[0].value)

    def answered(self, route: str, seconds: float) -> None:
        self._requests(route).inc()
        self._successes(route).inc()
        self._duration.observe(seconds)

    def failed(self, route: str, reason: str, seconds: float, *, rejected: bool = False) -> None:
        """Record a failed request; `reason` is the slug of a problem, or `CLIENT_GONE`."""
        self._requests(route).inc()
        self._failures(reason).inc()
        self._duration.observe(seconds)
        if rejected:
            self._rejections(reason).inc()
        elif reason in (CLIENT_GONE, DEADLINE):
            self._cancellations(reason).inc()

    def translated(self, timings: Timings, source_tokens: int) -> None:
        self._stages["tokenization"].observe(timings.tokenize)
        self._stages["queue"].observe(timings.queue)
        self._stages["inference"].observe(timings.decode)
        self._stages["detokenization"].observe(timings.detokenize)
        self._input.observe(source_tokens)

    def stepped(self, seconds: float, n_sentences: int, n_rows: int, n_tokens: int) -> None:
        self._step.observe(seconds)
        self._sentences.observe(n_sentences)
        self._rows.observe(n_rows)
        self._tokens.observe(n_tokens)

    def finished(self, source_tokens: int, target_tokens: int) -> None:
        self._read.inc(source_tokens)
        self._generated.inc(target_tokens)

    def model_loaded(self, model: str, outcome: str, seconds: float) -> None:
        self._loads.labels(model, outcome).inc()
        self._load_duration.observe(seconds)

    def _counter(self, name: str, meaning: str) -> Counter:
        return Counter(f"attend_{name}", meaning, registry=self._registry)

    def _counters(
        self, name: str, meaning: str, label: str, values: Iterable[str] = ()
    ) -> Counters:
        """Return a cached lookup of counters by label value, which is faster than the library's."""
        counters = cache(
            Counter(f"attend_{name}", meaning, (label,), registry=self._registry).labels
        )
        for value in values:
            counters(value)
        return counters

    def _histogram(
        self, name: str, meaning: str, buckets: tuple[float, ...] = DURATIONS
    ) -> Histogram:
        return Histogram(f"attend_{name}", meaning, buckets=buckets, registry=self._registry)
