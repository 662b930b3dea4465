"""The models in service: start, reload and stop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import structlog

from app import __version__
from app.concurrency.threads import in_background
from app.errors import (
    AppError,
    DrainingError,
    EngineDownError,
    ReloadFailedError,
    ReloadInProgressError,
    StartingError,
)
from app.observe.metrics import Gauges, Metrics, ModelMemory, RunningModel
from app.scheduling.admission import Admission
from app.shelf.shelf import Shelf
from app.shelf.slot import ModelSlot
from app.translation.file_service import FileService
from app.translation.served_model import KnownModel, ServedModel
from app.translation.service import TranslationService
from app.wire.native.answers import AnyOf, Info, ModelInfo
from model.checkpoint.config import AnyPair
from model.engine.compilation import COMPILATION
from model.errors import ModelError

LOADING = 3
"""Seconds from the compilation of kernels to the first answer, for `Retry-After`."""

_log = structlog.get_logger()


@dataclass(eq=False)
class Runtime:
    """Everything that serves the models; the shelf holds those that are loaded."""

    known: tuple[KnownModel, ...]
    shelf: Shelf[ServedModel]
    service: TranslationService
    files: FileService
    admission: Admission
    _n_held: int = 0
    _free: asyncio.Event = field(default_factory=asyncio.Event)
    _info_json: tuple[object, bytes] = None, b""

    @property
    def info(self) -> Info:
        """The models, as GET /info shows them."""
        first, *others = map(_model_info, self.known)
        pivoted = self.service.languages.pivoted
        return Info(**dict(first), others=others, pivoted=pivoted, version=__version__)

    @property
    def info_json(self) -> bytes:
        """`info` as JSON, made again when a model's facts or state have changed: with 200 languages
        it takes 20 ms."""
        now = [
            (model.facts, model.slot.state, model.slot.pinned, model.slot.n_bytes)
            for model in self.known
        ]
        before, written = self._info_json
        if now != before:
            written = self.info.model_dump_json().encode()
            self._info_json = now, written
        return written

    @property
    def alive(self) -> bool:
        """Whether every engine thread is running and none hangs.

        A model that is loaded on demand is loaded again if its engines are down.
        """
        return not self.shelf.closed and all(
            slot.model is None
            or (slot.model.works if slot.permanent else not slot.model.scheduler.hangs)
            for slot in self.shelf.slots
        )

    def gauges(self) -> Gauges:
        """Return the current load."""
        loads = [model.scheduler.load for model in self.shelf.models]
        return Gauges(
            admitted=self.admission.n_admitted,
            queue_size=sum(load.waiting for load in loads),
            queue_tokens=sum(load.waiting_tokens for load in loads),
            batch_size=sum(load.in_flight for load in loads),
            batch_tokens=sum(load.in_flight_tokens for load in loads),
            engines=sum(load.engines for load in loads),
            models=tuple(
                RunningModel(one.name, (by := one.facts.engine).engine, by.device, by.precision)
                for one in self.shelf.models
            ),
            memory=tuple(ModelMemory(one.name, one.slot.n_bytes) for one in self.known),
        )

    async def start(self, previous: Runtime | None = None) -> None:
        """Start the engines, warm them up, check the golden sentences.

        Models that `adopt` will take over from the previous runtime are not loaded again.
        """
        twins = self._twins(previous)
        await self.shelf.start(lambda slot: slot in twins and twins[slot].usable is not None)

    def adopt(self, previous: Runtime) -> None:
        """Take over the loaded models whose folders are unchanged."""
        twins = self._twins(previous)
        for model in self.known:
            twin = twins.get(model.slot)
            if twin and self.shelf.adopt(previous.shelf, twin, model.slot):
                model.slot = twin

    def _twins(
        self, previous: Runtime | None
    ) -> dict[ModelSlot[ServedModel], ModelSlot[ServedModel]]:
        """Map the slots of models to those of the same models before a reload."""
        if previous is None:
            return {}
        before = {model.key: model.slot for model in previous.known if model.key is not None}
        return {one.slot: before[one.key] for one in self.known if one.key in before}

    def hold(self) -> Callable[[], None]:
        """Register a request that uses this runtime; call the result once when it is done."""
        self._n_held += 1
        return self._release

    def _release(self) -> None:
        self._n_held -= 1
        if not self._n_held:
            self._free.set()

    def abandon(self) -> None:
        """Let `retire` stop now, although requests still use this runtime."""
        self._n_held = 0
        self._free.set()

    async def retire(self) -> None:
        """Stop once no request uses this runtime."""
        while self._n_held:
            self._free.clear()
            await self._free.wait()
        await self.stop()

    async def stop(self) -> None:
        """Stop accepting work, finish submitted work, stop the engines."""
        await self.shelf.stop()


def _model_info(model: KnownModel) -> ModelInfo:
    facts, slot, directions = model.facts, model.slot, model.directions
    return ModelInfo(
        model=model.name,
        directions=AnyOf(any_of=list(directions.any_of))
        if isinstance(directions, AnyPair)
        else list(directions),
        config=model.transformer_config.model_dump(mode="json"),
        parameters=facts.parameters,
        digest=facts.digest,
        **asdict(facts.engine),
        state=slot.state,
        pinned=slot.pinned,
        memory_bytes=slot.n_bytes,
    )


class Lifecycle:
    """Starting → ready → draining → closed, as the routes see it.

    load     builds the runtime, blocking; called at the start and for every reload
    settled  called after the start, and after a reload once the old runtime has stopped
    """

    def __init__(
        self,
        load: Callable[[], Runtime],
        metrics: Metrics,
        settled: Callable[[], None] | None = None,
    ) -> None:
        self._load = load
        self._metrics = metrics
        self._settled = settled
        self.address: str | None = None  # for the log
        self._runtime: Runtime | None = None
        self._loading = False
        self._draining = False
        self._closed = False
        self._retiring: dict[asyncio.Task[None], Runtime] = {}

    @property
    def alive(self) -> bool:
        """False only if a restart is needed."""
        return self._runtime is None or self._draining or self._runtime.alive

    @property
    def started(self) -> Runtime:
        """Return the models, from when they are loaded and warm until the server stops.

        Raises `StartingError`, `DrainingError`.
        """
        if self._runtime is None:
            if self._closed:
                raise DrainingError("the server is stopping")
            if (left := COMPILATION.seconds_left) is not None:
                seconds = math.ceil(left) + LOADING
                raise StartingError(f"kernels are compiled, about {seconds} s", seconds)
            raise StartingError("the model is being loaded")
        return self._runtime

    @property
    def open(self) -> Runtime:
        """Return the models while requests are accepted.

        Raises `StartingError`, `DrainingError`, `EngineDownError`.
        """
        runtime = self.started
        if self._closed:
            raise DrainingError("the server is stopping")
        if not self.alive:
            raise EngineDownError
        return runtime

    @property
    def ready(self) -> Runtime:
        """Return the models while the server reports ready; raises as `open`, and after `drain`."""
        if self._draining:
            raise DrainingError("the server is stopping")
        return self.open

    def gauges(self) -> Gauges:
        """Return the current load, zero before models are loaded."""
        return self._runtime.gauges() if self._runtime else Gauges()

    async def start(self) -> None:
        """Load the models and start the engines. Raises as `load`, and `GoldenSentenceError`."""
        self._runtime = await self._make()
        self._report("ready")
        if self._settled:
            self._settled()

    async def reload(self) -> Runtime:
        """Load new models beside the present ones and switch; the old ones finish their requests.

        On failure, nothing changes. Raises `ReloadFailedError`, `ReloadInProgressError`, and as
        `ready`.
        """
        old = self.ready
        if self._loading:
            raise ReloadInProgressError("another reload is in progress")
        try:
            new = await self._make(old)
        except Exception as error:
            self._metrics.reloads("failed").inc()
            reason = str(error) if isinstance(error, AppError | ModelError) else "see the log"
            raise ReloadFailedError(reason) from error
        new.adopt(old)
        self._runtime = new
        self._metrics.reloads("done").inc()
        self._report("reloaded")
        retiring = asyncio.create_task(old.retire())
        self._retiring[retiring] = old
        retiring.add_done_callback(self._retired)
        return new

    async def _make(self, previous: Runtime | None = None) -> Runtime:
        self._loading = True
        try:
            runtime = await in_background(self._load)
            try:
                await runtime.start(previous)
            except BaseException:
                await runtime.stop()
                raise
        finally:
            self._loading = False
        return runtime

    def _report(self, event: str) -> None:
        # Without hyperparameters and pairs, whose number grows with the square of the languages.
        info = self.started.info.model_dump(
            exclude={"config": True, "pivoted": True, "others": {"__all__": {"config"}}}
        )
        address = {"address": self.address} if self.address else {}
        _log.info(event, **address, **info)

    def _retired(self, retiring: asyncio.Task[None]) -> None:
        del self._retiring[retiring]
        if self._settled:
            self._settled()

    def drain(self) -> None:
        """Report not ready while still accepting requests. Safe in a signal handler."""
        self._draining = True

    def close(self) -> None:
        """Stop accepting requests."""
        self._draining = self._closed = True

    async def stop(self) -> None:
        """Stop accepting work, finish admitted work, stop the engines."""
        self.close()
        for old in self._retiring.values():
            old.abandon()
        present = [self._runtime.stop()] if self._runtime else []
        await asyncio.gather(*self._retiring, *present)
        # The application is a reference cycle: do not leave its models to the collector.
        self._runtime = None
