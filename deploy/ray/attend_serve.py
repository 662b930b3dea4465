"""attend as a Ray Serve application, for several machines.

cd deploy/ray && serve run --working-dir . attend_serve:build max_replicas=20

Each replica is a complete server with its own queue and engines. Ray distributes requests among
replicas, and starts and stops replicas.
"""

# No `from __future__ import annotations`: Ray reads the annotation of the parameter of `build`.
import asyncio
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from ray.serve import Application
from ray.serve.config import AutoscalingConfig, BackpressureConfig

from app.cli.serve import load
from app.main import create_app
from app.observe.logs import configure_logs
from app.settings import Settings


class Fleet(BaseModel):
    """Parameters of `build`: `args` of serve.yaml, or name=value on the command line.

    settings  settings of the server, by their names in docs/settings.md; others are read from the
              environment of the replica's node
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_replicas: int = Field(1, ge=1)
    max_replicas: int = Field(10, ge=1)
    cores_per_replica: int = Field(2, ge=1, description="each with an engine on it")
    target_ongoing_requests: float = Field(
        32, gt=0, description="per replica; above it, more replicas start; see docs/deploy.md"
    )
    max_ongoing_requests: int = Field(
        128, ge=1, description="per replica; several batches, so that the next one is always ready"
    )
    max_queued_requests: int = Field(
        512, ge=0, description="per proxy, while all replicas are full; further requests get 429"
    )
    look_back: float = Field(
        15, gt=10, description="seconds over which ongoing requests are averaged"
    )
    upscale_delay: float = Field(5, ge=0, description="seconds")
    downscale_delay: float = Field(300, ge=0, description="seconds")
    settings: dict[str, Any] = {}


class Translator:
    """One replica: the application of `attend serve`, and its health check for Ray."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Raises `SettingsError` for invalid settings."""
        self._settings = Settings.parse(**settings)
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        configure_logs(self._settings.log_level, self._settings.log_format)

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Return the application; Ray then enters its lifespan, which loads the models."""
        self._app = create_app(self._settings, load, self._started.set_exception, self._when_ready)
        return self._app

    def _when_ready(self) -> None:
        if not self._started.done():  # not again after a reload
            self._started.set_result(None)

    async def check_health(self) -> None:
        """Raise an error if a restart may help. The first call returns when the models are warm.

        Until then, Ray sends no requests. If the models cannot be loaded, the replica fails to
        start and Ray shows the reason.
        """
        await asyncio.shield(self._started)
        if not self._app.state.lifecycle.alive:
            raise RuntimeError("no engine is left")


def build(fleet: Fleet) -> Application:
    """Return the application for `serve run`, `serve deploy` or `ray.serve.run`."""
    drain = Settings.model_fields["shutdown_timeout"].default
    deployment = serve.deployment(
        serve.ingress()(Translator),
        name="attend",
        ray_actor_options={"num_cpus": fleet.cores_per_replica},
        max_ongoing_requests=fleet.max_ongoing_requests,
        max_queued_requests=fleet.max_queued_requests,
        backpressure_config=BackpressureConfig(status_code=429, retry_after_s=1),
        autoscaling_config=AutoscalingConfig(
            min_replicas=fleet.min_replicas,
            max_replicas=fleet.max_replicas,
            target_ongoing_requests=fleet.target_ongoing_requests,
            look_back_period_s=fleet.look_back,
            upscale_delay_s=fleet.upscale_delay,
            downscale_delay_s=fleet.downscale_delay,
        ),
        health_check_period_s=2,
        health_check_timeout_s=5,
        graceful_shutdown_timeout_s=fleet.settings.get("shutdown_timeout", drain) + 5,
        graceful_shutdown_wait_loop_s=0.5,
    )
    settings = {"threads": fleet.cores_per_replica} | fleet.settings
    return deployment.bind(settings)
