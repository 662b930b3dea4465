"""The models in service, from start to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from app.errors import DrainingError, EngineDownError, StartingError
from app.metrics import Gauges
from app.places import Places
from app.scheduler import Scheduler
from app.schemas import Info
from app.service import TranslationService

_log = structlog.get_logger()


@dataclass(frozen=True)
class Runtime:
    """Everything that serves the checkpoints, with a scheduler each."""

    info: Info
    service: TranslationService
    places: Places
    schedulers: tuple[Scheduler, ...]

    @property
    def alive(self) -> bool:
        """Whether every engine's thread runs."""
        return all(scheduler.alive for scheduler in self.schedulers)

    def gauges(self) -> Gauges:
        """What there is to do now."""
        loads = [scheduler.load for scheduler in self.schedulers]
        return Gauges(
            admitted=self.places.taken,
            queue_size=sum(load.waiting for load in loads),
            queue_tokens=sum(load.waiting_tokens for load in loads),
            batch_size=sum(load.in_flight for load in loads),
            batch_tokens=sum(load.in_flight_tokens for load in loads),
            engines=sum(load.engines for load in loads),
        )


class Lifecycle:
    """Starting → ready → draining, as the routes see it."""

    def __init__(self) -> None:
        self._loaded: Runtime | None = None
        self._warm: Runtime | None = None
        self._draining = False

    @property
    def alive(self) -> bool:
        """False only where a restart is needed."""
        return self._warm is None or self._draining or self._warm.alive

    @property
    def started(self) -> Runtime:
        """The models, once they are loaded and warm. Raises `StartingError`."""
        if self._warm is None:
            raise StartingError("the model is being loaded")
        return self._warm

    @property
    def ready(self) -> Runtime:
        """The models, while requests are taken.

        Raises `StartingError`, `DrainingError`, `EngineDownError`.
        """
        runtime = self.started
        if self._draining:
            raise DrainingError("the server is stopping")
        if not self.alive:
            raise EngineDownError
        return runtime

    def gauges(self) -> Gauges:
        """What there is to do now; nothing before there are models."""
        return self._loaded.gauges() if self._loaded else Gauges()

    async def start(self, load: Callable[[], Runtime]) -> None:
        """Load in a thread of its own, start the engines, translate once. Raises as `load`."""
        self._loaded = runtime = await asyncio.to_thread(load)
        for scheduler in runtime.schedulers:
            scheduler.start()
        await runtime.service.warm_up()
        self._warm = runtime
        # Short of hyperparameters, and of pairs whose number grows with the languages' square.
        shown = runtime.info.model_dump(
            exclude={"config": True, "pivoted": True, "others": {"__all__": {"config"}}}
        )
        _log.info("ready", **shown)

    async def stop(self) -> None:
        """Take nothing more, finish what was admitted, end the engines."""
        self._draining = True
        if self._loaded:
            await asyncio.gather(*(scheduler.stop() for scheduler in self._loaded.schedulers))
