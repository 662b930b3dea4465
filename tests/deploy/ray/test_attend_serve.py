"""A replica and its deployment, without a cluster."""

import asyncio
import inspect
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import yaml
from pydantic import BaseModel, ValidationError

from app.errors import SettingsError
from model.errors import CheckpointError
from tests.deploy.files import DEPLOY, ROOT

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, at its import

from deploy.ray.attend_serve import Fleet, Translator, build  # noqa: E402

SERVE_YAML = DEPLOY / "ray" / "serve.yaml"


@pytest.fixture(autouse=True)
def _keep_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.ray.attend_serve.configure_logs", lambda *_: None)


async def test_a_replica_is_healthy_once_its_models_are_warm_and_then_translates(
    tiny_checkpoint: Path, kernels: None
) -> None:
    replica = Translator({"checkpoint": tiny_checkpoint, "threads": 1})
    app = replica.__serve_build_asgi_app__()
    health = asyncio.ensure_future(replica.check_health())
    await asyncio.sleep(0)
    assert not health.done()
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://attend") as client,
    ):
        await health
        assert (await client.get("/readyz")).status_code == 200
        answer = await client.post("/translate", json={"text": "cat", "target": "fr"})
        await replica.check_health()
    assert answer.json()["model"] == "tiny"


async def test_a_replica_imports_a_marian_folder_as_the_server_does(
    make_folder: Callable[..., Path], tmp_path: Path, kernels: None
) -> None:
    replica = Translator({"checkpoint": make_folder(), "cache": tmp_path, "threads": 1})
    app = replica.__serve_build_asgi_app__()
    async with app.router.lifespan_context(app):
        await replica.check_health()
    assert len(list((tmp_path / "marian").iterdir())) == 1


async def test_a_cancelled_health_check_does_not_affect_the_next(tiny_checkpoint: Path) -> None:
    replica = Translator({"checkpoint": tiny_checkpoint})
    replica.__serve_build_asgi_app__()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(replica.check_health(), 0.01)


async def test_the_first_health_check_names_an_unloadable_checkpoint(tmp_path: Path) -> None:
    replica = Translator({"checkpoint": tmp_path / "missing"})
    app = replica.__serve_build_asgi_app__()
    async with app.router.lifespan_context(app):
        with pytest.raises(CheckpointError, match="missing"):
            await replica.check_health()


async def test_invalid_settings_raise_in_the_constructor() -> None:
    with pytest.raises(SettingsError, match="'precision'"):
        Translator({"precision": "int4"})


def test_ray_reads_the_annotation_of_the_builder() -> None:
    [parameter] = inspect.signature(build).parameters.values()
    assert issubclass(parameter.annotation, BaseModel)


def test_command_line_arguments_are_strings_and_invalid_ones_are_reported() -> None:
    fleet = Fleet.model_validate({"max_replicas": "20", "target_ongoing_requests": "16"})
    assert (fleet.max_replicas, fleet.target_ongoing_requests) == (20, 16)
    with pytest.raises(ValidationError, match="max_replica"):
        Fleet.model_validate({"max_replica": "20"})


@pytest.mark.parametrize("argument", Fleet.model_fields)
def test_every_argument_is_described_with_its_default(argument: str) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+?) \|(.*?)\|", page, re.MULTILINE)
    [(names, defaults)] = [row for row in rows if f"`{argument}`" in row[0]]
    place = re.findall(r"`(\w+)`", names).index(argument)
    default = Fleet.model_fields[argument].default
    assert defaults.strip().split(", ")[place] == (f"{default:g}" if default else "")


def test_the_deployment_keeps_batches_full_and_answers_429_on_overload() -> None:
    fleet = Fleet(cores_per_replica=4, settings={"shutdown_timeout": 10})
    deployment = build(fleet)._bound_deployment
    assert deployment.max_ongoing_requests >= 2 * fleet.target_ongoing_requests
    assert deployment.backpressure_config.status_code == 429
    assert deployment.ray_actor_options["num_cpus"] == 4
    assert deployment.init_args == ({"threads": 4, "shutdown_timeout": 10},)
    assert deployment._deployment_config.graceful_shutdown_timeout_s == 15


def test_ray_and_the_builder_accept_the_file_for_serve_deploy() -> None:
    from ray.serve.schema import ServeDeploySchema

    schema = ServeDeploySchema.model_validate(yaml.safe_load(SERVE_YAML.read_text("utf-8")))
    [application] = schema.applications
    assert application.import_path == "attend_serve:build"
    fleet = Fleet.model_validate(application.args)
    build(fleet)
    assert schema.http_options.request_timeout_s
