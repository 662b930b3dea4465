import re
from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from tests.deploy.files import (
    DEPLOY,
    DRAIN_DELAY,
    ROOT,
    SHUTDOWN_TIMEOUT,
    VARIABLES,
    check_schema,
    read_yaml,
    seconds,
)

FILE = ROOT / "docker-compose.yml"
COMPOSE = read_yaml(FILE)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PROXY = (ROOT / "deploy" / "haproxy" / "haproxy.cfg").read_text("utf-8")
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("attend:")]


@pytest.mark.parametrize("file", [FILE, DEPLOY / "training" / "docker-compose.yml"])
def test_the_file_has_the_published_schema(file: Path) -> None:
    check_schema("compose-spec", file)


def test_plain_up_starts_the_server_alone_and_each_profile_adds_its_own() -> None:
    profiles = {name: service.get("profiles") for name, service in SERVICES.items()}
    assert profiles == {
        "attend": None,
        "attend-gpu": ["gpu"],
        "attend-replica": ["scale-out"],
        "proxy": ["scale-out"],
        "prometheus": ["monitoring"],
        "grafana": ["monitoring"],
    }


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined_and_restarted(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert service["mem_limit"]
    assert service["pids_limit"]


@pytest.mark.parametrize("name", OURS)
def test_admitted_requests_have_time_to_finish(name: str) -> None:
    service = SERVICES[name]
    assert set(service["environment"]) <= VARIABLES | {"FORWARDED_ALLOW_IPS"}
    drain = int(service["environment"][SHUTDOWN_TIMEOUT])
    delay = int(service["environment"].get(DRAIN_DELAY, 0))
    assert seconds(service["stop_grace_period"]) >= delay + drain + 5
    assert service["healthcheck"]["test"][0] == "CMD"
    assert "/readyz" in service["healthcheck"]["test"][-1]


def test_ports_are_published_locally_and_do_not_collide() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    published = [port.split(":")[1] for port in ports]
    assert len(set(published)) == len(published) == 5


def test_the_gpu_is_reserved_and_torch_built_for_it() -> None:
    service = SERVICES["attend-gpu"]
    [device] = service["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert "/cu" in service["build"]["args"]["TORCH_INDEX_URL"]
    assert service["image"] != SERVICES["attend"]["image"]


def test_mounted_files_exist() -> None:
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", ())]
    assert len(mounts) == 6
    for mount in mounts:
        source = mount.split(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / source).exists(), source


def test_a_replica_drains_only_after_the_proxy_has_noticed() -> None:
    match = re.search(r"check inter (\d+)s fall (\d+)", PROXY)
    assert match
    delay = int(SERVICES["attend-replica"]["environment"][DRAIN_DELAY])
    assert delay > int(match[1]) * int(match[2])
    assert "GET /readyz" in PROXY
    assert "attend-replica:8000" in PROXY


def test_requests_for_a_file_reach_the_replica_that_has_it_and_have_time() -> None:
    match = re.search(r"use_backend files if { path_beg (.+) }", PROXY)
    assert match
    assert match[1].split() == ["/translate_file", "/download_file", "/v2/document"]
    _, files = PROXY.split("backend files\n")
    timeout = re.search(r"timeout server (\d+)s", files)
    assert timeout
    assert int(timeout[1]) > Settings.model_fields["file_timeout"].default


def test_a_replica_trusts_only_the_proxy_for_client_addresses() -> None:
    trusting = [one for one in OURS if "FORWARDED_ALLOW_IPS" in SERVICES[one]["environment"]]
    assert trusting == ["attend-replica"]
    assert "ports" not in SERVICES["attend-replica"]
    assert "http-request set-header X-Forwarded-For %[src]" in PROXY
