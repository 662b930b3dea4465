"""Gauges, computed when the metrics are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


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
        """Yield all gauges."""
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
