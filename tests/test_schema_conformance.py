"""Requests that Schemathesis makes up from /openapi.json, to a real server with a real engine.

SCHEMATHESIS_EXAMPLES=1000 pytest -s --timeout 1800 tests/test_schema_conformance.py
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from app.main import create_app
from app.settings import Settings
from tests.app.server_process import serving

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "12"))
"""Requests that are made up for an operation that has parameters or a body."""

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_headers_conformance, response_schema_conformance, unsupported_method,
    allow_header_conformance, ignored_auth,
]  # fmt: skip
"""All of Schemathesis's but those by which whatever the schema allows is accepted and all else is
refused: languages that nobody serves are valid, and two dialects ignore what they do not know."""

KNOWN: dict[str, dict[str, list[Any]]] = {
    "TranslateRequest": {
        "source": ["en", "FR", "auto"], "target": ["en", "fr-CA"], "alternatives": [0, 1],
    },
    "LibreTranslateRequest": {"source": ["en", "FR", "auto"], "target": ["en", "fr-CA"]},
    "DeepLRequest": {"source_lang": ["en", "FR"], "target_lang": ["EN-US", "FR"]},
    "AttentionRequest": {"layers": ["last", "all", [0, 1]], "heads": ["mean", "all", [3]]},
}  # fmt: skip
"""What this server's model has; of what the schema allows it refuses nearly all."""


def document() -> dict[str, Any]:
    """The server's, with values that it takes; others are tried where requests are to be wrong."""
    described = create_app(Settings()).openapi()
    for name, fields in KNOWN.items():
        properties = described["components"]["schemas"][name]["properties"]
        assert fields.keys() <= properties.keys()
        properties.update({field: {"enum": values} for field, values in fields.items()})
    return described


def native_document() -> dict[str, Any]:
    """The same of POST /translate and /detect in the native dialect alone, elsewhere a seventh."""
    described = document()
    described["paths"] = {path: described["paths"][path] for path in ("/translate", "/detect")}
    for item in described["paths"].values():
        content = item["post"]["requestBody"]["content"]
        native, _ = content["application/json"]["schema"]["anyOf"]
        item["post"]["requestBody"]["content"] = {"application/json": {"schema": native}}
    return described


Statuses = dict[str, Counter[int]]
"""By operation."""

SCHEMA = schemathesis.openapi.from_dict(document())
NATIVE = schemathesis.openapi.from_dict(native_document())
NATIVE.config.phases.coverage.enabled = False  # the same as of the other


@pytest.fixture(scope="module")
def url(tiny_checkpoint: Path, kernels: None) -> Iterator[str]:
    with serving(tiny_checkpoint, "--log-level", "error") as (_, client):
        yield str(client.base_url)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


@pytest.fixture(scope="module")
def statuses() -> Iterator[Statuses]:
    """What was answered, by operation; shown with `pytest -s`."""
    counts: Statuses = {}
    yield counts
    for operation, count in counts.items():
        print(f"\n{operation}: {count.total():,} cases, {dict(sorted(count.items()))}", end="")  # noqa: T201


made_up = settings(
    max_examples=EXAMPLES, derandomize=True, database=None, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@SCHEMA.parametrize()
@made_up
def test_every_answer_is_as_described(
    case: schemathesis.Case[Any], url: str, session: requests.Session, statuses: Statuses
) -> None:
    check(case, url, session, statuses.setdefault(case.operation.label, Counter()))


@NATIVE.parametrize()
@made_up
def test_every_answer_of_the_native_dialect_is_as_described(
    case: schemathesis.Case[Any], url: str, session: requests.Session, statuses: Statuses
) -> None:
    name = f"{case.operation.label}, native"
    check(case, url, session, statuses.setdefault(name, Counter()))


def check(
    case: schemathesis.Case[Any], url: str, session: requests.Session, statuses: Counter[int]
) -> None:
    response = case.call(base_url=url, session=session)
    statuses[response.status_code] += 1
    case.validate_response(response, checks=CHECKS)
