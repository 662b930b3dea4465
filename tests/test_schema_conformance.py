"""Requests that Schemathesis makes up from /openapi.json, to a real server with a real engine.

SCHEMATHESIS_EXAMPLES=1000 pytest -s --timeout 1800 tests/test_schema_conformance.py
"""

import html
import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
from app.wire.openapi import FORM_SUFFIXES
from tests.app.documents.word_xml import run, word_file
from tests.app.server_process import serving
from tests.cases import cases

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "12"))
"""Requests that are made up for an operation that has parameters or a body."""

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_headers_conformance, response_schema_conformance, unsupported_method,
    allow_header_conformance, ignored_auth,
]  # fmt: skip
"""All of Schemathesis's but those by which whatever the schema allows is accepted and all else is
refused: languages that nobody serves are valid, and two dialects ignore what they do not know."""

KNOWN: dict[str, dict[str, list[Any]]] = cases(__file__, "known")  # fmt: skip
"""Values of this server's model; it refuses most others that the schema allows."""


def document() -> dict[str, Any]:
    """The server's, with values that it takes; others are tried where requests are to be wrong."""
    described = create_app(Settings()).openapi()
    for name, fields in KNOWN.items():
        for suffix in ("", *FORM_SUFFIXES.values()):
            properties = described["components"]["schemas"].get(name + suffix, {}).get("properties")
            if properties:
                assert fields.keys() <= properties.keys()
                properties |= {field: {"enum": values} for field, values in fields.items()}
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
"""Counts of statuses by operation."""

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
    """Responses by operation; shown with `pytest -s`."""
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
    case: schemathesis.Case[Any],
    url: str,
    session: requests.Session,
    statuses: Statuses,
    stored: "Stored",
) -> None:
    counts = statuses.setdefault(case.operation.label, Counter())
    stored.put_into(case, counts)
    check(case, url, session, counts)


@NATIVE.parametrize()
@made_up
def test_every_answer_of_the_native_dialect_is_as_described(
    case: schemathesis.Case[Any], url: str, session: requests.Session, statuses: Statuses
) -> None:
    name = f"{case.operation.label}, native"
    check(case, url, session, statuses.setdefault(name, Counter()))


class Stored:
    """Objects of the server whose names a client knows."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._kept = self._glossary()

    def put_into(self, case: schemathesis.Case[Any], statuses: Counter[int]) -> None:
        """Have every other case ask for a glossary that there is; one that stays, if it may."""
        parameters = case.path_parameters or {}
        if "glossary_id" in parameters and statuses.total() % 2:
            deletes = case.method.upper() == "DELETE"
            parameters["glossary_id"] = self._glossary() if deletes else self._kept

    def _glossary(self) -> str:
        body = {
            "name": "Homes", "source_lang": "EN", "target_lang": "FR",
            "entries": "house\tdemeure", "entries_format": "tsv",
        }  # fmt: skip
        response = requests.post(f"{self._url}/v2/glossaries", json=body, timeout=300)
        found: str = response.json()["glossary_id"]
        return found


@pytest.fixture(scope="module")
def stored(url: str) -> Stored:
    return Stored(url)


PROSE = st.text(max_size=40) | st.sampled_from(["The <b>old</b> cat & dog {n}.", "42", ""])
FILES = st.one_of(
    st.tuples(st.sampled_from(["a.txt", "b.MD", "é.md"]), PROSE.map(str.encode)),
    st.tuples(st.just("a.html"), PROSE.map("<p>One <b>{}</b></p>".format).map(str.encode)),
    st.tuples(st.just("a.xml"), PROSE.map("<r>{}</r>".format).map(str.encode)),
    st.tuples(
        st.just("a.srt"),
        PROSE.map("1\n00:00:01,000 --> 00:00:02,000\n{}\n".format).map(str.encode),
    ),
    st.tuples(
        st.just("a.po"),
        PROSE.map(partial(json.dumps, ensure_ascii=False))
        .map('msgid {}\nmsgstr ""\n'.format).map(str.encode),
    ),
    st.tuples(
        st.just("a.json"),
        st.recursive(PROSE | st.none() | st.integers(), lambda x: st.lists(x, max_size=3))
        .map(lambda value: json.dumps({"key": value})).map(str.encode),
    ),
    st.tuples(
        st.just("a.docx"),
        st.text("The cat sees <&> é1", max_size=20)
        .map(lambda text: word_file(run(html.escape(text)), run("house", "<w:b/>"))),
    ),
    st.tuples(st.sampled_from(["a.docx", "a.pdf", "", "a.po"]), st.binary(max_size=20)),
)  # fmt: skip
"""Names and contents: most are readable, a few are not."""


@made_up
@given(
    file=FILES,
    fields=st.fixed_dictionaries(
        {"target": st.sampled_from(["fr", "fr-CA", "fr", "xx"])},
        optional={"source": st.sampled_from(["en", "auto", "FR"])},
    ),
    accept=st.sampled_from(["*/*", "application/json", "application/octet-stream"]),
)
def test_every_answer_to_a_file_is_as_described(
    file: tuple[str, bytes],
    fields: dict[str, str],
    accept: str,
    url: str,
    session: requests.Session,
    statuses: Statuses,
) -> None:
    """Schemathesis gives a file no name, by which its format is known."""
    operation = SCHEMA["/translate_file"]["POST"]
    response = session.post(
        f"{url}/translate_file", files={"file": file}, data=fields, headers={"Accept": accept},
        timeout=300,
    )  # fmt: skip
    statuses.setdefault(f"{operation.label}, files", Counter())[response.status_code] += 1
    case = operation.Case(media_type="multipart/form-data", body={**fields})
    case.validate_response(response, checks=CHECKS)
    if response.ok and response.headers["Content-Type"] == "application/json":
        *_, name = response.json()["translatedFileUrl"].split("/")
        fetched = SCHEMA["/download_file/{name}"]["GET"]
        counts = statuses.setdefault(f"{fetched.label}, of a file", Counter())
        check(fetched.Case(path_parameters={"name": name}), url, session, counts)


def check(
    case: schemathesis.Case[Any], url: str, session: requests.Session, statuses: Counter[int]
) -> None:
    response = case.call(base_url=url, session=session)
    statuses[response.status_code] += 1
    # Older clients of LibreTranslate post for the languages, which the document does not mention.
    about_methods = [unsupported_method, allow_header_conformance]
    excluded = about_methods if case.path == "/languages" else []
    case.validate_response(response, checks=[one for one in CHECKS if one not in excluded])
