"""attend as a Ray Serve application, for more than one machine can do.

cd deploy/ray && serve run --working-dir . attend_serve:build max_replicas=20

Each replica is the whole server that `attend serve` runs, engines and queue included: sentences
are batched where they are translated. Ray spreads requests over replicas, starts and ends them.
"""

# No `from __future__ import annotations`: Ray reads the annotation of what `build` takes.
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
    """What `build` takes: `args` of serve.yaml, or name=value on the command line.

    settings  of the server on every replica, by their names in docs/settings.md; what is not given
              here is taken from the environment of the node that the replica runs on
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_replicas: int = Field(1, ge=1)
    max_replicas: int = Field(10, ge=1)
    cores_per_replica: int = Field(2, ge=1, description="each with an engine on it")
    target_ongoing_requests: float = Field(
        32, gt=0, description="per replica: more start others; docs/deploy.md says how many to take"
    )
    max_ongoing_requests: int = Field(
        128, ge=1, description="per replica; several batches, so that there is always a next one"
    )
    max_queued_requests: int = Field(
        512, ge=0, description="per proxy, while no replica takes any; more are answered 429"
    )
    look_back: float = Field(15, gt=10, description="seconds of which the ongoing requests count")
    upscale_delay: float = Field(5, ge=0, description="seconds")
    downscale_delay: float = Field(300, ge=0, description="seconds")
    settings: dict[str, Any] = {}


class Translator:
    """One replica: the application that `attend serve` has, and its health as Ray asks for it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Raise `SettingsError` where the settings cannot be."""
        self._settings = Settings.parse(**settings)
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        configure_logs(self._settings.log_level, self._settings.log_format)

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Ray enters the application's lifespan next, which loads the models."""
        self._app = create_app(self._settings, load, self._started.set_exception, self._when_ready)
        return self._app

    def _when_ready(self) -> None:
        if not self._started.done():  # and not once more after a reload
            self._started.set_result(None)

    async def check_health(self) -> None:
        """Raise what a restart may mend. The first call returns when the models are warm.

        Until then Ray sends no request here. If they cannot be loaded, the replica has failed to
        start, and Ray shows the reason.
        """
        await asyncio.shield(self._started)
        if not self._app.state.lifecycle.alive:
            raise RuntimeError("no engine is left")


def build(fleet: Fleet) -> Application:
    """The application to give to `serve run`, `serve deploy` or `ray.serve.run`."""
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
