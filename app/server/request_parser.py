"""Parses requests that offer another protocol as if they did not (RFC 9110 §7.8 allows that).

httptools stops behind their headers, without the body. Java's HttpClient offers HTTP/2 with the
first request of each connection.
"""

from typing import Protocol

import httptools

_FRAMING = (b"content-length", b"transfer-encoding")


class Receiver(Protocol):
    """Receives the parts of requests; `headers` belong to the latest one."""

    headers: list[tuple[bytes, bytes]]

    def on_message_begin(self) -> None: ...
    def on_url(self, url: bytes) -> None: ...
    def on_header(self, name: bytes, value: bytes) -> None: ...
    def on_headers_complete(self) -> None: ...
    def on_body(self, body: bytes) -> None: ...
    def on_message_complete(self) -> None: ...


class RequestParser:
    """httptools' parser; it continues after the headers of a request with `Upgrade`.

    The body and what follows it is read by another parser, to which the head is given again with
    nothing but the length of the body.
    """

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._parser = _parser(receiver)

    def feed_data(self, data: bytes) -> None:
        """Parse a chunk. Raises `httptools.HttpParserError`."""
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
            else:
                return
            framing = [pair for pair in self._receiver.headers if pair[0] in _FRAMING]
            head = [b"POST / HTTP/1.1", *(b"%b: %b" % pair for pair in framing), b"", b""]
            behind = _BehindHead(self._receiver)
            self._parser = _parser(behind)
            self._parser.feed_data(b"\r\n".join(head))

    @property
    def leaves_body(self) -> bool:
        """Whether the end of a request is that of its head, and the body is read next."""
        offers: bool = self._parser.should_upgrade()
        return offers

    def should_upgrade(self) -> bool:
        return False

    def should_keep_alive(self) -> bool:
        keeps: bool = self._parser.should_keep_alive()
        return keeps

    def get_http_version(self) -> str:
        version: str = self._parser.get_http_version()
        return version

    def get_method(self) -> bytes:
        method: bytes = self._parser.get_method()
        return method


def _parser(receiver: object) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(receiver)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
    return parser


class _BehindHead:
    """Passes on what a parser finds, except the first head."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._is_known = True
        self.on_body = receiver.on_body
        self.on_message_complete = receiver.on_message_complete

    def on_message_begin(self) -> None:
        if not self._is_known:
            self._receiver.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_known:
            self._receiver.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_known:
            self._receiver.on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._is_known:
            self._receiver.on_headers_complete()
        self._is_known = False
