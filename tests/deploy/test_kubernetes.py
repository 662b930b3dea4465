import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fastapi.routing import APIRoute

from app.routes import health
from app.settings import env_name
from tests.deploy.files import DEPLOY, ROOT, SHUTDOWN_TIMEOUT, VARIABLES, read_yaml
from tests.deploy.promql import answered_labels
from tests.deploy.test_monitoring import EXPOSED

BASE = DEPLOY / "kubernetes" / "base"
QUEUE = DEPLOY / "kubernetes" / "queue"
MONITORING = DEPLOY / "kubernetes" / "monitoring"
OBJECTS: dict[str, dict[str, Any]] = {
    document["kind"]: document
    for path in (*BASE.glob("*.yaml"), QUEUE / "scaledobject.yaml")
    if path.name != "kustomization.yaml"
    for document in [read_yaml(path)]
}
DEPLOYMENT = OBJECTS["Deployment"]
POD = DEPLOYMENT["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
NAME = DEPLOYMENT["metadata"]["name"]
LABELS = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("version", ["1.30", "1.37"])
@pytest.mark.parametrize("kind", sorted(OBJECTS.keys() - {"ScaledObject"}))
def test_it_has_the_published_schema(kind: str, version: str) -> None:
    kubernetes_validate.validate(OBJECTS[kind], version, strict=True)


def test_the_lowest_version_is_documented() -> None:
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(DEPLOYMENT, "1.28", strict=True)  # preStop.sleep
    assert "Kubernetes 1.30 or later" in (ROOT / "docs" / "deploy.md").read_text("utf-8")


def test_an_error_is_detected() -> None:
    broken = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.37", strict=True)


@pytest.mark.parametrize("name", ["base", "queue", "monitoring", "training"])
def test_the_kustomization_has_every_file_of_its_folder(name: str) -> None:
    folder = DEPLOY / "kubernetes" / name
    resources = read_yaml(folder / "kustomization.yaml")["resources"]
    here = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in resources if name.endswith(".yaml")} == here
    for name in resources:
        assert (folder / name).exists()


def test_everything_selects_the_pods() -> None:
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"].items() <= LABELS.items()
    assert OBJECTS["Service"]["spec"]["selector"].items() <= LABELS.items()
    for kind, key in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        assert OBJECTS[kind]["spec"][key]["matchLabels"].items() <= LABELS.items()
    for kind in ("HorizontalPodAutoscaler", "ScaledObject"):
        assert OBJECTS[kind]["spec"]["scaleTargetRef"]["name"] == NAME
    [port] = CONTAINER["ports"]
    assert OBJECTS["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]


def test_pods_are_unprivileged() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["runAsUser"] > 0
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert POD["automountServiceAccountToken"] is False
    context = CONTAINER["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert OBJECTS["NetworkPolicy"]["spec"]["egress"] == []


def test_the_cluster_sets_no_variable_of_the_settings() -> None:
    assert POD["enableServiceLinks"] is False  # else ATTEND_PORT=tcp://…
    assert {variable["name"] for variable in CONTAINER["env"]} <= VARIABLES


def test_admitted_requests_have_time_to_finish() -> None:
    [drain] = [int(one["value"]) for one in CONTAINER["env"] if one["name"] == SHUTDOWN_TIMEOUT]
    delay = CONTAINER["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert delay > 0
    assert POD["terminationGracePeriodSeconds"] >= delay + drain + 5
    assert DEPLOYMENT["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_each_probe_uses_its_own_route() -> None:
    probes = {
        kind: CONTAINER[f"{kind}Probe"]["httpGet"]["path"]
        for kind in ("startup", "readiness", "liveness")
    }
    assert probes == {"startup": "/startupz", "readiness": "/readyz", "liveness": "/livez"}
    routes = {route.path for route in health.router.routes if isinstance(route, APIRoute)}
    assert set(probes.values()) == routes


def test_only_prometheus_operator_reaches_the_admin_port() -> None:
    deployment, service, policy = read_yaml(MONITORING / "kustomization.yaml")["patches"]
    [container] = yaml.safe_load(deployment["patch"])["spec"]["template"]["spec"]["containers"]
    [port] = container["ports"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert variables.keys() <= VARIABLES
    assert variables[env_name("admin_port")] == str(port["containerPort"])
    [published] = yaml.safe_load(service["patch"])["spec"]["ports"]
    assert published["targetPort"] == port["name"]
    [endpoint] = read_yaml(MONITORING / "servicemonitor.yaml")["spec"]["endpoints"]
    assert endpoint["port"] == published["name"]
    [added] = yaml.safe_load(policy["patch"])
    assert added["value"]["ports"] == [{"port": port["name"]}]
    assert OBJECTS["NetworkPolicy"]["spec"]["ingress"][0]["ports"] == [{"port": "http"}]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_the_component_fits_both_ways_of_scaling(tmp_path: Path) -> None:
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    for way in ("base", "queue"):
        mine = tmp_path / "kubernetes" / f"mine-{way}"
        mine.mkdir()
        text = f"resources: [../{way}]\ncomponents: [../monitoring]\n"
        (mine / "kustomization.yaml").write_text(text)
        done = subprocess.run(
            ["kubectl", "kustomize", str(mine)], capture_output=True, text=True, check=True
        )
        made = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
        assert {"ServiceMonitor", "PrometheusRule"} <= made.keys()
        assert len(made["Service"]["spec"]["ports"]) == len(
            made["NetworkPolicy"]["spec"]["ingress"]
        )
        for kind in ("Deployment", "Service", "NetworkPolicy"):
            kubernetes_validate.validate(made[kind], "1.30", strict=True)


def test_the_queue_scales_in_place_of_processor_time() -> None:
    [patch] = read_yaml(QUEUE / "kustomization.yaml")["patches"]
    autoscaler = OBJECTS["HorizontalPodAutoscaler"]
    assert f"kind: {autoscaler['kind']}" in patch["patch"]
    assert f"name: {autoscaler['metadata']['name']}" in patch["patch"]
    assert "$patch: delete" in patch["patch"]
    [trigger] = OBJECTS["ScaledObject"]["spec"]["triggers"]
    discovered = {name: labels | {"namespace"} for name, labels in EXPOSED.items()}
    assert answered_labels(trigger["metadata"]["query"], discovered) == set()  # one series
