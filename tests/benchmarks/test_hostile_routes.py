"""Every route is attacked; new routes must be listed in `benchmarks.hostile_routes`."""

from benchmarks.hostile_routes import attacks
from tests.app.routes.test_every_route_is_limited import LIMITED, NOT_LIMITED

NOT_ATTACKED = {
    "/translate_a/t",  # as /translate_a/single
    "/v3/glossaries/{glossary_id}", "/v3/glossaries/{glossary_id}/dictionaries",  # as those without
    "/v2/document/{document_id}", "/v2/document/{document_id}/result", "/v2/usage", "/v2/languages",
    "/language/translate/v2/languages",
}  # fmt: skip


def test_every_route_is_attacked() -> None:
    attacked = {name.partition(" ")[2].partition(",")[0] for name, _, _ in attacks()}
    assert {path for _, path in LIMITED.keys() | NOT_LIMITED} <= attacked | NOT_ATTACKED


def test_requests_are_as_large_as_admitted() -> None:
    for name, kind, requests in attacks():
        method, path = name.partition(",")[0].split()
        request = next(requests)
        head, _, body = request.partition(b"\r\n\r\n")
        assert head.startswith(f"{method} {path} HTTP/1.1\r\n".encode())
        assert kind == "no body" or len(body) > 20_000
        assert head.lower().count(b"content-length:") == (method in ("POST", "PUT"))
