"""Requests to the hub: address, token, retries, and errors in one line each."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx

from app.errors import PullError
from model.errors import reason

PUBLIC_HUB = "https://huggingface.co"
TIMEOUT = httpx.Timeout(30.0, connect=10.0)
RETRIES = 5
"""Maximum retries in a row without a byte of progress."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before a retry, which double with each."""

MAX_LIST_BYTES = 20_000_000

T = TypeVar("T")

_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}


class Interrupted(Exception):  # noqa: N818  (not an error yet: it is retried)
    """A transient failure of a request; `pause` is the hub's Retry-After in seconds, if any."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class UnreachableError(PullError):
    """Every retry failed, so that others would, too."""


class MissingError(PullError):
    """The server answered 404."""


class Hub:
    """The hub, or a mirror.

    endpoint   by default $HF_ENDPOINT, else the public hub
    token      by default $HF_TOKEN; sent to the endpoint, but not to hosts that it redirects to
    transport  for tests
    sleep      for tests
    """

    def __init__(
        self,
        endpoint: str | None = None,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or PUBLIC_HUB).rstrip("/")
        self._token = (os.environ.get("HF_TOKEN") if token is None else token) or None
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        self._sleep = sleep
        try:
            url = httpx.URL(self.endpoint)
        except httpx.InvalidURL:
            url = httpx.URL()
        if url.scheme not in ("http", "https") or not url.host:
            raise PullError(f"HF_ENDPOINT {self.endpoint!r}: not a URL such as {PUBLIC_HUB}")
        # httpx drops the Authorization header when it follows a redirect to another origin.
        self._client = httpx.Client(
            headers=headers, timeout=TIMEOUT, transport=transport, follow_redirects=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(
        self, url: str, repository: str, revision: str, params: Mapping[str, str]
    ) -> httpx.Response:
        """Return a successful response, after retries. Raises `PullError`."""

        def once() -> httpx.Response:
            with _interruptions():
                response = self._client.get(url, params=dict(params))
            self._check(response, repository, revision)
            return response

        return self.retried(once, repository)

    @contextmanager
    def stream(
        self, url: str, repository: str, revision: str, headers: Mapping[str, str]
    ) -> Iterator[httpx.Response]:
        """Open a response whose status is 200, 206 or 416. Raises `PullError`, `Interrupted`."""
        with _interruptions(), self._client.stream("GET", url, headers=dict(headers)) as response:
            if response.status_code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                self._check(response, repository, revision)
            yield response

    def retried(
        self, once: Callable[[], T], what: str, progress: Callable[[], int] = lambda: 0
    ) -> T:
        """Call `once`, and retry while it is interrupted. Raises `PullError`.

        The count of retries restarts whenever `progress` grows. If HF_HUB_OFFLINE is set, `once` is
        not called.
        """
        if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
            raise PullError(f"{what}: HF_HUB_OFFLINE is set; unset it, or give a folder")
        n_failed, before = 0, progress()
        while True:
            try:
                return once()
            except Interrupted as error:
                n_failed = 0 if progress() > before else n_failed + 1
                before = progress()
                if n_failed > RETRIES:
                    reason = f"{what}: {error}; run the command again to resume"
                    raise UnreachableError(reason) from None
                pause = FIRST_PAUSE * 2 ** max(0, n_failed - 1)
                self._sleep(min(error.pause or pause, LONGEST_PAUSE))

    def _check(self, response: httpx.Response, repository: str, revision: str) -> None:
        """Raise `PullError`, or `Interrupted`, unless the response is a success."""
        status = response.status_code
        if status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            return
        if status in _TRANSIENT:
            pause = response.headers.get("retry-after", "")
            reason = f"{self.endpoint} answered {status}"
            raise Interrupted(reason, float(pause) if pause.isdecimal() else None)
        refused = MissingError if status == HTTPStatus.NOT_FOUND else PullError
        raise refused(f"{repository}: {self._refusal(response, repository, revision)}")

    def _refusal(self, response: httpx.Response, repository: str, revision: str) -> str:
        """Return why a request failed for good."""
        status = response.status_code
        code = response.headers.get("x-error-code", "")
        if code == "GatedRepo" or status == HTTPStatus.FORBIDDEN:
            reason = (
                f"is gated: request access on {self.endpoint}/{repository}, and set HF_TOKEN to a "
                "token of that account"
            )
        elif code == "RevisionNotFound":
            reason = f"has no revision {revision!r}"
        elif code == "EntryNotFound":
            reason = "a file has been removed; run the command again"
        elif status == HTTPStatus.UNAUTHORIZED and self._token and not code:
            reason = f"{self.endpoint} does not accept HF_TOKEN"
        elif status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
            private = "" if self._token else ", or it is private or gated and needs HF_TOKEN"
            reason = f"no such model on {self.endpoint}{private}"
        else:
            reason = f"{self.endpoint} answered {status}"
        return reason


class FileServer(Hub):
    """A web server with plain files: it gets no token."""

    def __init__(
        self,
        address: str,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(address, "", transport, sleep)

    def _refusal(self, response: httpx.Response, repository: str, revision: str) -> str:  # noqa: ARG002
        return f"{response.url} answered {response.status_code}"


def is_url(address: str) -> bool:
    """Whether an address is one of the web, not a path."""
    return urlsplit(address).scheme in ("http", "https")


def read_list(
    server: FileServer, address: str, file_name: str, called: str, parse: Callable[[Any], T]
) -> tuple[str, T]:
    """Read a list of models in JSON: at a URL, in a file, or in a folder that has `file_name`.

    Returns its address as well. Raises `PullError`, also if `parse` raises `ValueError`.
    """
    if is_url(address):
        content = server.get(address, called, "", params={}).content
    else:
        path = Path(address)
        path = path / file_name if path.is_dir() else path
        address = str(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            message = f"{path}: {error.strerror}; expected {file_name}, {called}"
            raise PullError(message) from None
    try:
        if len(content) > MAX_LIST_BYTES:
            raise ValueError(f"has {len(content):,} bytes")
        return address, parse(json.loads(content))
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise PullError(f"{address}: not {called}: {reason}") from None


@contextmanager
def _interruptions() -> Iterator[None]:
    try:
        yield
    except httpx.TooManyRedirects:
        raise PullError("the hub redirects in a circle; check HF_ENDPOINT") from None
    except httpx.TransportError as error:
        host = error.request.url.host
        raise Interrupted(f"the network failed ({host}: {reason(error)})") from None
