"""The examples of a training job, for Compose and for Kubernetes."""

from typing import Any

import kubernetes_validate
import pytest

from app.cli.train import train
from app.shipped import recipe_path
from model.training.config import TrainingConfig, read_recipe
from tests.deploy.files import DEPLOY, ROOT, read_yaml, seconds

COMPOSE = DEPLOY / "training" / "docker-compose.yml"
FOLDER = DEPLOY / "kubernetes" / "training"
SERVICE: dict[str, Any] = read_yaml(COMPOSE)["services"]["train"]
OBJECTS = {path.name: read_yaml(path) for path in FOLDER.glob("*.yaml")}
POD: dict[str, Any] = OBJECTS["job.yaml"]["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
MOUNTS = {
    "compose": [volume.split(":")[1] for volume in SERVICE["volumes"]],
    "kubernetes": [volume["mountPath"] for volume in CONTAINER["volumeMounts"]],
}
COMMANDS = {
    "compose": (SERVICE["entrypoint"], SERVICE["command"]),
    "kubernetes": (CONTAINER["command"], CONTAINER["args"]),
}


@pytest.mark.parametrize("name", sorted(OBJECTS.keys() - {"kustomization.yaml"}))
def test_the_objects_have_the_published_schema(name: str) -> None:
    kubernetes_validate.validate(OBJECTS[name], "1.37", strict=True)


def test_the_kustomization_has_the_version_of_the_server() -> None:
    kustomization = OBJECTS["kustomization.yaml"]
    base = read_yaml(DEPLOY / "kubernetes" / "base" / "kustomization.yaml")
    assert kustomization["images"] == base["images"]
    assert kustomization["namespace"] == base["namespace"]
    server = read_yaml(ROOT / "docker-compose.yml")["services"]["attend"]
    assert SERVICE["image"] == server["image"]


@pytest.mark.parametrize("place", COMMANDS)
def test_restarts_continue_the_run(place: str) -> None:
    launcher, arguments = COMMANDS[place]
    assert launcher[0] == "torchrun"
    assert launcher[-3:] == ["--no-python", "--", "attend"]
    assert arguments[0] == "train"
    assert "--continue" in arguments
    context = train.make_context("train", list(arguments[1:]))
    config = TrainingConfig.parse(read_recipe(recipe_path(str(context.params["recipe"]))), "recipe")
    [processes] = [int(one.split("=")[1]) for one in launcher if one.startswith("--nproc")]
    assert processes <= config.accumulate
    for path in (context.params["corpora"], context.params["run"]):
        assert any(path.is_relative_to(mount) for mount in MOUNTS[place]), path


def test_it_is_restarted_if_it_fails_and_has_time_to_save() -> None:
    assert SERVICE["restart"] == POD["restartPolicy"].replace("OnFailure", "on-failure")
    assert seconds(SERVICE["stop_grace_period"]) == POD["terminationGracePeriodSeconds"] == 120
    assert OBJECTS["job.yaml"]["spec"]["backoffLimit"] > 0


def test_it_is_unprivileged() -> None:
    assert SERVICE["read_only"] is True
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["automountServiceAccountToken"] is False
    context = CONTAINER["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    claims = {
        volume["persistentVolumeClaim"]["claimName"]
        for volume in POD["volumes"]
        if "persistentVolumeClaim" in volume
    }
    assert claims == {OBJECTS[f"{name}.yaml"]["metadata"]["name"] for name in ("corpora", "runs")}
