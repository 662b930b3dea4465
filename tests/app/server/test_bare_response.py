from __future__ import annotations

import h11
from starlette.responses import Response

from app.server.bare_response import to_bytes


def read(data: bytes) -> tuple[h11.Response, bytes, object]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "attend")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    head = connection.next_event()
    body = connection.next_event()
    assert isinstance(head, h11.Response)
    assert isinstance(body, h11.Data)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    return head, bytes(body.data), connection.their_state


def test_another_parser_reads_what_the_response_says() -> None:
    response = Response("né", 503, {"Retry-After": "2"}, "text/plain")
    head, body, state = read(to_bytes(response, [(b"date", b"today")], close=False))
    assert (head.status_code, head.reason) == (503, b"Service Unavailable")
    headers = dict(head.headers)
    assert headers[b"retry-after"] == b"2"
    assert headers[b"date"] == b"today"
    assert headers[b"content-length"] == b"3"
    assert body.decode() == "né"
    assert state is h11.DONE


def test_a_connection_to_be_closed_says_so() -> None:
    head, _, state = read(to_bytes(Response("x"), [], close=True))
    assert (b"connection", b"close") in list(head.headers)
    assert state is h11.MUST_CLOSE
