"""GET /metrics, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.observe.metrics import Metrics

router = APIRouter(tags=["health"])


@router.head("/metrics", include_in_schema=False)
@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Counters, gauges and histograms, in Prometheus's text format or as OpenMetrics."""
    told: Metrics = request.app.state.metrics
    content, media_type = told.exposition(request.headers.get("accept", ""))
    return Response(content, headers={"Content-Type": media_type})
