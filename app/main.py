"""The application: the one place that builds and connects things."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

import structlog
import torch
from fastapi import FastAPI
from starlette.exceptions import HTTPException

from app import openapi
from app.errors import AppError
from app.middleware import RequestMiddleware
from app.problems import handle
from app.routes import health, info, translate
from app.runtime import Lifecycle, Runtime
from app.scheduler import Scheduler
from app.schemas import Info
from app.service import Limits, TranslationService
from app.settings import Settings
from model.checkpoint import Checkpoint, load_checkpoint
from model.device import pick_device
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine

Load = Callable[[Settings], Runtime]
GiveUp = Callable[[BaseException], None]

_log = structlog.get_logger()


def create_app(
    settings: Settings,
    load: Load | None = None,
    give_up: GiveUp | None = None,
    when_ready: Callable[[], None] | None = None,
) -> FastAPI:
    """The server as an ASGI application.

    It answers at once, 503 until the model is loaded and warm, so that probes see it start. If
    that fails, `give_up` gets the error and is to end the server; without it, the error is logged
    and the server never gets ready. If it goes well, `when_ready` is called.
    """
    lifecycle = Lifecycle()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.create_task(lifecycle.start(partial(load or load_runtime, settings)))
        starting.add_done_callback(partial(_report, give_up or _log_failed_start, when_ready))
        yield
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await lifecycle.stop()

    app = FastAPI(
        title="attend",
        summary="Translation by Transformer checkpoints, with attention weights as data",
        version=version("attend"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.settings = settings
    app.state.lifecycle = lifecycle
    app.openapi = partial(openapi.describe, app)  # type: ignore[method-assign]
    app.add_middleware(RequestMiddleware)
    app.add_exception_handler(AppError, handle)
    app.add_exception_handler(HTTPException, handle)
    for module in (translate, info, health):
        app.include_router(module.router)
    return app


def load_runtime(settings: Settings) -> Runtime:
    """Read the checkpoint onto its device and build what serves it. Blocks. Raises `ModelError`."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    checkpoint = load_checkpoint(settings.checkpoint, pick_device(settings.device))
    engine = EagerEngine(checkpoint.model, settings.max_batch_tokens)
    return build_runtime(checkpoint, [engine], settings)


def build_runtime(checkpoint: Checkpoint, engines: Sequence[Engine], settings: Settings) -> Runtime:
    """What serves a loaded checkpoint with engines of one kind."""
    scheduler = Scheduler(engines, max_requests=settings.max_concurrent_requests)
    limits = Limits(
        max_texts=settings.max_texts,
        max_text_characters=settings.max_text_characters,
        max_attention_weights=settings.max_attention_weights,
        timeout=settings.request_timeout,
    )
    service = TranslationService(checkpoint.config, checkpoint.tokenizer, scheduler, limits)
    info = Info(
        model=checkpoint.config.name,
        directions=checkpoint.config.directions,
        config=checkpoint.config.transformer.model_dump(mode="json"),
        parameters=checkpoint.model.n_parameters(),
        digest=checkpoint.digest,
        device=engines[0].info.device,
        precision=engines[0].info.precision,
        threads=sum(engine.info.threads for engine in engines),
        version=version("attend"),
    )
    return Runtime(info, service, scheduler)


def _report(
    give_up: GiveUp, when_ready: Callable[[], None] | None, starting: asyncio.Task[None]
) -> None:
    if starting.cancelled():
        return
    if error := starting.exception():
        give_up(error)
    elif when_ready:
        when_ready()


def _log_failed_start(error: BaseException) -> None:
    _log.critical("cannot start", reason=str(error))
