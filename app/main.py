"""The application: the one place that builds and connects the components."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.routing import Route

from app import __version__
from app.accounts.clients import Keys, RateLimit
from app.accounts.document_jobs import DocumentJobs
from app.accounts.glossary_store import GlossaryStore
from app.accounts.result_files import STORED_FILES, FileStore
from app.accounts.usage_ledger import UsageLedger
from app.errors import AppError
from app.loading import load_runtime
from app.observe.metrics import Metrics
from app.observe.tracing import SpanExport
from app.routes import (
    analysis,
    extensions,
    files,
    google,
    health,
    libretranslate,
    models,
    openai,
    page,
    translate,
)
from app.routes.deepl import documents, glossaries, text
from app.routes.handling.charging import TIMEOUT_HEADER
from app.runtime import Lifecycle, Runtime
from app.server.load_shedding import LoadShedding, LoopLag
from app.server.middleware import (
    CLIENT_HEADERS,
    NO_ROUTE,
    PROBES,
    Cors,
    RequestMiddleware,
    SecurityHeaders,
)
from app.settings import Settings
from app.web.site import shipped_site
from app.wire import openapi
from app.wire.failures import handle, is_libretranslate
from app.wire.problems import REASONS, REJECTIONS
from app.wire.request_id import REQUEST_ID

Load = Callable[[Settings, Metrics], Runtime]
GiveUp = Callable[[BaseException], None]

_log = structlog.get_logger()


def create_app(
    settings: Settings,
    load: Load | None = None,
    give_up: GiveUp | None = None,
    when_ready: Callable[[], None] | None = None,
) -> FastAPI:
    """Return the server as an ASGI application.

    It responds immediately, with 503 until the models are loaded and warm, so that probes see it
    start. If loading fails, `give_up` is called with the error and must stop the server; without
    it, the error is logged and the server never becomes ready. If loading succeeds, `when_ready`
    is called, and again after every reload.
    """
    metrics = Metrics(reasons=REASONS, rejections=REJECTIONS)
    ledger = UsageLedger(settings.character_limit, settings.data)
    glossary_store = GlossaryStore(settings.data)
    jobs = DocumentJobs(FileStore(STORED_FILES * settings.max_file_bytes))
    lifecycle = Lifecycle(partial(load or load_runtime, settings, metrics), metrics, when_ready)
    metrics.watch(lifecycle.gauges)
    lag = LoopLag()
    spans = SpanExport(settings.otlp_endpoint) if settings.otlp_endpoint else None

    async def start() -> None:
        await asyncio.to_thread(ledger.open)
        await asyncio.to_thread(glossary_store.open)
        await lifecycle.start()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        lag.start()
        starting = asyncio.create_task(start())
        saving = asyncio.create_task(ledger.save_regularly())
        starting.add_done_callback(partial(_report, give_up or _log_failed_start))
        yield
        lag.stop()
        for task in (starting, saving):
            task.cancel()
        await asyncio.gather(starting, saving, return_exceptions=True)
        await jobs.stop()
        await lifecycle.stop()
        await asyncio.to_thread(ledger.save)
        await asyncio.to_thread(glossary_store.close)
        if spans:
            await asyncio.to_thread(spans.stop)

    app = FastAPI(
        title="attend",
        summary="Translation by Transformer checkpoints, with attention weights as data",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_telemetry(spans),
    )
    app.state.settings = settings
    app.state.lifecycle = lifecycle
    app.state.metrics = metrics
    app.state.lag = lag
    app.state.tracer = spans.provider.get_tracer("attend") if spans else None
    app.state.rate_limits = (
        RateLimit(settings.requests_per_minute, "requests"),
        RateLimit(settings.characters_per_minute, "characters"),
    )
    app.state.keys = Keys(key.get_secret_value() for key in settings.api_keys or ())
    app.state.ledger = ledger
    app.state.glossaries = glossary_store
    app.state.downloads, app.state.documents = jobs.results, jobs
    app.state.openapi = None  # made at the first request
    app.openapi = partial(openapi.describe, app)  # type: ignore[method-assign]
    modules = (
        analysis, libretranslate, files, models, health, text, documents, glossaries, google,
        extensions, openai,
    )  # fmt: skip
    others = (translate.router, translate.detect_router, page.openapi_router)
    routers = [*others, *(one.router for one in modules)]
    if settings.admin_port is None:
        routers.append(health.metrics_router)
    if settings.page:
        app.state.site = shipped_site()
        routers.append(page.router)
    _furnish(app, routers, sheds_load=True)
    return app


def create_admin_app(app: FastAPI) -> FastAPI:
    """Return the application for administrators, served beside `app` on a separate port."""
    beside = FastAPI(
        title="attend, for administrators",
        version=app.version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_telemetry(None),
    )
    beside.state = app.state
    _furnish(beside, [models.admin_router, health.router, health.metrics_router])
    return beside


def _furnish(app: FastAPI, routers: Sequence[APIRouter], *, sheds_load: bool = False) -> None:
    """Add routes, error handlers and middleware; the last middleware is the outermost."""
    app.add_middleware(RequestMiddleware, metrics=app.state.metrics)
    settings: Settings = app.state.settings
    if sheds_load:
        app.add_middleware(
            LoadShedding,
            lifecycle=app.state.lifecycle,
            metrics=app.state.metrics,
            lag=app.state.lag,
            timeout=settings.request_timeout,
        )
    app.add_middleware(SecurityHeaders)
    origins = settings.cors_origins
    if origins or sheds_load:
        app.add_middleware(
            Cors,
            covers=(lambda _: True) if origins else is_libretranslate,
            origins=origins or ["*"],
            headers=["Authorization", "Content-Type", REQUEST_ID, TIMEOUT_HEADER, *CLIENT_HEADERS],
        )
    paths = {
        route.path for router in routers for route in router.routes if isinstance(route, Route)
    }
    app.state.metrics.expect_routes({NO_ROUTE, *(paths - PROBES)})
    for error in (AppError, HTTPException):
        app.add_exception_handler(error, partial(handle, routers))
    for router in routers:  # included routers are matched twice, each route at twice the cost
        app.router.routes.extend(router.routes)


def _telemetry(spans: SpanExport | None) -> TelemetryConfig:
    return {
        "tracing": spans is not None,
        "tracer_provider": spans.provider if spans else None,
        "metrics": False,
        "logs": False,  # an exception's message may quote the text
        "operation_spans": False,
        "auto_configure": False,
        "exclude": lambda scope: scope.get("path") in PROBES,
    }


def _report(give_up: GiveUp, starting: asyncio.Task[None]) -> None:
    if not starting.cancelled() and (error := starting.exception()):
        give_up(error)


def _log_failed_start(error: BaseException) -> None:
    _log.critical("cannot start", reason=str(error))
