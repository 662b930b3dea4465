"""Liveness, startup and readiness probes, and metrics."""

from functools import partial

from fastapi import Request, Response
from prometheus_client.exposition import choose_encoder

from app.concurrency.coroutines import Coalesced
from app.errors import EngineDownError
from app.observe.metrics import Metrics
from app.routes.handling.dependencies import CurrentLifecycle
from app.routes.handling.routing import Router
from app.wire.native.answers import Health, Status

_expositions = Coalesced[tuple[bytes, str]]()  # some milliseconds each

router = Router(tags=["health"])
metrics_router = Router(tags=["health"])


@router.get("/livez")
async def livez(lifecycle: CurrentLifecycle) -> Health:
    """200 while the event loop and all engines work; otherwise a restart helps."""
    if not lifecycle.alive:
        raise EngineDownError
    return Health()


@router.get("/startupz")
async def startupz(lifecycle: CurrentLifecycle) -> Health:
    """200 once every model is loaded and has translated one text."""
    _ = lifecycle.started
    return Health()


@router.get("/readyz")
async def readyz(lifecycle: CurrentLifecycle) -> Health:
    """200 while requests should be sent here: started, not stopping, engines running."""
    _ = lifecycle.ready
    return Health()


@metrics_router.get("/status")
async def status(request: Request) -> Status:
    """The server's load in two numbers for the page; served where /metrics is."""
    collected: Metrics = request.app.state.metrics
    requests, tokens = collected.load
    return Status(requests=requests, tokens_generated=tokens)


@metrics_router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Counters, gauges and histograms, in Prometheus's text format or as OpenMetrics."""
    collected: Metrics = request.app.state.metrics
    accept = request.headers.get("accept", "")
    key = (collected, choose_encoder(accept)[1])
    content, media_type = await _expositions.call(key, partial(collected.exposition, accept))
    return Response(content, headers={"Content-Type": media_type})
