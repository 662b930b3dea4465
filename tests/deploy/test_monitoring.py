import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.observe.metrics import CLIENT_GONE, EARLY, Gauges, Metrics, RunningModel
from app.wire.problems import HTTP_KINDS, KINDS
from tests.deploy.files import DEPLOY, ROOT, read_yaml
from tests.deploy.promql import answered_labels

ALERTS = [
    rule for group in read_yaml(DEPLOY / "prometheus" / "alerts.yml")["groups"]
    for rule in group["rules"]
]  # fmt: skip
SCRAPED = read_yaml(DEPLOY / "prometheus" / "prometheus.yml")
DASHBOARD = json.loads((DEPLOY / "grafana" / "attend.json").read_text("utf-8"))
PROVISIONING = DEPLOY / "grafana" / "provisioning"
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SERVICES = read_yaml(ROOT / "docker-compose.yml")["services"]
SCRAPED_LABELS = {"instance", "job"}
"""Labels that Prometheus adds to every series."""


def exposed() -> dict[str, set[str]]:
    """The labels of every metric, after every kind of event."""
    metrics = Metrics()
    metrics.answered("/translate", 0.1)
    metrics.failed(EARLY, "queue-full", 0.1, rejected=True)
    metrics.failed("/translate", CLIENT_GONE, 0.1)
    metrics.engine_failures("exception").inc()
    metrics.expect_models(["en-fr"])
    model = RunningModel("en-fr", "cpu", "cpu", "int8")
    metrics.watch(lambda: Gauges(models=(model,)))
    body, _ = metrics.exposition()
    labels = {"up": set(SCRAPED_LABELS)}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set(SCRAPED_LABELS)).update(sample.labels)
    return labels


EXPOSED = exposed()


def queries() -> Iterator[tuple[str, str]]:
    """Yield each query with its legend, or an empty one."""
    for rule in ALERTS:
        yield rule["expr"], ""
    for panel in PANELS:
        for target in panel["targets"]:
            # As Grafana fills them in.
            query = re.sub(r"\$(job|instance)", ".*", target["expr"])
            query = query.replace("$__rate_interval", "1m")
            yield query, target["legendFormat"]


@pytest.mark.parametrize(("query", "legend"), sorted(set(queries())))
def test_every_queried_metric_is_exposed(query: str, legend: str) -> None:
    labels = answered_labels(query, EXPOSED)
    assert labels is not None
    assert set(re.findall(r"{{(\w+)}}", legend)) <= labels


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_names_labels_that_its_query_has(rule: dict[str, Any]) -> None:
    labels = answered_labels(rule["expr"], EXPOSED)
    assert labels is not None
    for text in rule["annotations"].values():
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels


@pytest.mark.parametrize(
    "query",
    [
        "sum(rate(attend_requests_total[5m]))",  # no such metric
        "rate(attend_request_count_total)",  # no range
        "sum(attend_engines",
        "sum by (kind) (attend_request_failure_total)",  # its label is `reason`
        'attend_engines{model="en-fr"} == 0',
        "attend_request_failure_total / attend_request_count_total",  # one by reason, one by route
        "sum(attend_engines) and on (instance) up",
        "histogram_quantile(0.5, sum(rate(attend_step_duration_seconds_bucket[5m])))",
    ],
)
def test_an_error_is_detected(query: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        answered_labels(query, EXPOSED)


def test_counters_of_alerts_exist_before_their_first_increase() -> None:
    metrics = Metrics()
    metrics.expect_models(["en-fr"])
    body, _ = metrics.exposition()
    text = body.decode().replace('model="en-fr",', "")
    there = {line.rpartition(" ")[0] for line in text.splitlines()}
    counters = {
        series for rule in ALERTS for series in re.findall(r"increase\((.+?)\[", rule["expr"])
    }
    assert counters == {
        "attend_engine_restarts_total",
        'attend_reloads_total{outcome="failed"}',
        'attend_model_loads_total{outcome="failed"}',
    }
    assert counters <= there


def test_the_reasons_that_alerts_distinguish_exist() -> None:
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
def test_every_alert_has_a_severity_and_is_documented(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    assert f"| `{rule['alert']}` |" in (ROOT / "docs" / "deploy.md").read_text("utf-8")


def test_no_query_depends_on_the_name_of_a_job() -> None:
    for query, _ in queries():
        assert not re.search(r'job=~?"(?!\.\*")', query), query


def test_prometheus_operator_reads_the_same_alerts() -> None:
    rules = read_yaml(DEPLOY / "kubernetes" / "monitoring" / "rules.yaml")
    assert rules["spec"] == read_yaml(DEPLOY / "prometheus" / "alerts.yml")


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


def test_the_panels_have_their_own_ids_and_positions() -> None:
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


ALERT_CASES = Path(__file__).with_name("alerts_test.yml")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Prometheus")
def test_alerts_fire_when_they_should_and_not_before(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "prometheus" / "alerts.yml", tmp_path)
    shutil.copy(ALERT_CASES, tmp_path)
    done = subprocess.run(
        ["promtool", "test", "rules", ALERT_CASES.name],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    cases = [case for test in read_yaml(ALERT_CASES)["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == {
        rule["alert"] for rule in ALERTS
    }
