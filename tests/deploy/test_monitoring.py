from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.metrics import Metrics
from app.problems import HTTP_KINDS, KINDS
from tests.deploy.files import DEPLOY, ROOT, metrics_in, read_yaml

ALERTS = [
    rule for group in read_yaml(DEPLOY / "prometheus" / "alerts.yml")["groups"]
    for rule in group["rules"]
]  # fmt: skip
SCRAPED = read_yaml(DEPLOY / "prometheus" / "prometheus.yml")
DASHBOARD = json.loads((DEPLOY / "grafana" / "attend.json").read_text("utf-8"))
PROVISIONING = DEPLOY / "grafana" / "provisioning"
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SERVICES = read_yaml(ROOT / "docker-compose.yml")["services"]
HISTOGRAM = ("_bucket", "_sum", "_count")


def exposed() -> set[str]:
    """Every name that a query may ask the server's metrics for."""
    body, _ = Metrics().exposition()
    names: set[str] = set()
    for family in text_string_to_metric_families(body.decode()):
        if family.type == "counter":
            names.add(family.name + "_total")
        elif family.type == "histogram":
            names |= {family.name + suffix for suffix in HISTOGRAM}
        else:
            names.add(family.name)
    return names


EXPOSED = exposed()


def expressions() -> Iterator[str]:
    for rule in ALERTS:
        yield rule["expr"]
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"]


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_what_is_asked_for_is_exposed(expression: str) -> None:
    assert metrics_in(expression) <= EXPOSED
    for name in re.findall(r"\b(?:process|python)_\w+", expression):
        assert name in EXPOSED
    assert expression.count("(") == expression.count(")")


def test_a_metric_that_nobody_exposes_would_be_noticed() -> None:
    assert metrics_in("sum(rate(attend_requests_total[5m])) > attend_engines") - EXPOSED == {
        "attend_requests_total"
    }


def test_what_an_alert_asks_the_increase_of_is_there_before_the_first_time() -> None:
    body, _ = Metrics().exposition()
    there = {line.rpartition(" ")[0] for line in body.decode().splitlines()}
    asked = {series for rule in ALERTS for series in re.findall(r"increase\((.+?)\[", rule["expr"])}
    assert asked == {"attend_engine_restarts_total", 'attend_reloads_total{outcome="failed"}'}
    assert asked <= there


def test_the_reasons_that_alerts_tell_apart_exist() -> None:
    slugs = {kind.slug for kind in (*KINDS.values(), *HTTP_KINDS.values())}
    named = [
        reason
        for rule in ALERTS
        for reasons in re.findall(r'reason=~?"([^"]+)"', rule["expr"])
        for reason in reasons.split("|")
    ]
    assert named
    assert set(named) <= slugs


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_says_how_urgent_it_is_and_the_docs_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    assert f"| `{rule['alert']}` |" in (ROOT / "docs" / "deploy.md").read_text("utf-8")


def test_prometheus_finds_every_server_of_the_compose_file() -> None:
    [job] = SCRAPED["scrape_configs"]
    [source] = job["dns_sd_configs"]
    servers = [name for name, service in SERVICES.items() if "attend:" in service["image"]]
    assert sorted(source["names"]) == sorted(servers)
    assert SCRAPED["rule_files"] == ["alerts.yml"]


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    [source] = read_yaml(PROVISIONING / "datasources" / "prometheus.yml")["datasources"]
    host, port = re.fullmatch(r"http://(\w+):(\d+)", source["url"]).groups()  # type: ignore[union-attr]
    assert any(published.endswith(f":{port}") for published in SERVICES[host]["ports"])
    [provider] = read_yaml(PROVISIONING / "dashboards" / "attend.yml")["providers"]
    mounted = [volume.split(":")[1] for volume in SERVICES["grafana"]["volumes"]]
    assert provider["options"]["path"] + "/attend.json" in mounted
    queried = {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]}
    assert queried == {source["uid"]}


def test_the_panels_have_their_own_ids_and_places() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
