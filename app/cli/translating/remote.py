"""Translations from a running attend server, over its native dialect."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx

from app.errors import AppError
from model.errors import reason

_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
_FILE_NAME = re.compile(r"filename\*=UTF-8''([^\s;]+)")
_FILE_TIMEOUT = httpx.Timeout(24 * 3600.0, connect=5.0)
"""The server has its own limit for files."""

MAX_TEXTS = 32
"""Maximum texts per request; a block of lines becomes several."""


class RemoteError(AppError):
    """The server is unreachable, rejects a request, or is not an attend server."""


@dataclass(frozen=True, slots=True)
class RemoteTranslation:
    """The response for one text; `flags` and `detected` as in docs/api.md."""

    text: str
    score: float
    flags: tuple[str, ...] = ()
    detected: dict[str, str | float] | None = None


class RemoteTranslator:
    """A client of POST /translate. The server chooses omitted search options.

    Without source and target, the first direction of the server's model is used, as with a
    checkpoint. `api_key` is for servers that require one. Raises `RemoteError`.
    """

    def __init__(
        self,
        url: str,
        source: str | None,
        target: str | None,
        search: dict[str, float | None],
        api_key: str | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(timeout=_TIMEOUT, headers=headers)
        if source is None and target is None:
            source, target = self._first_direction()
        options = {"source": source, "target": target, **search}
        self._options = {name: value for name, value in options.items() if value is not None}

    def close(self) -> None:
        self._client.close()

    def translate_texts(self, texts: Sequence[str]) -> list[RemoteTranslation]:
        """Translate texts in order; blank ones are not sent. Raises `RemoteError`."""
        sent = [index for index, text in enumerate(texts) if text and not text.isspace()]
        translations = [RemoteTranslation(text, 0.0) for text in texts]
        for start in range(0, len(sent), MAX_TEXTS):
            batch = sent[start : start + MAX_TEXTS]
            for index, answer in zip(batch, self._post([texts[i] for i in batch]), strict=True):
                translations[index] = answer
        return translations

    def translate_file(self, name: str, data: bytes) -> tuple[bytes, str]:
        """Return a file's translation and its name. Raises `RemoteError`."""
        response = self._request(
            "POST",
            "/translate_file",
            files={"file": (name, data)},
            data={
                side: self._options[side] for side in ("source", "target") if side in self._options
            },
            headers={"Accept": "application/octet-stream"},
            timeout=_FILE_TIMEOUT,
        )
        called = _FILE_NAME.search(response.headers.get("content-disposition", ""))
        if not called:
            raise self._foreign("/translate_file")
        return response.content, Path(unquote(called[1])).name

    def _first_direction(self) -> tuple[str, str]:
        try:
            directions = self._ask("GET", "/info")["directions"]
            listed = directions["any_of"] if isinstance(directions, dict) else directions[0]
            source, target = listed[:2]
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._foreign("/info") from None
        return source, target

    def _post(self, texts: list[str]) -> list[RemoteTranslation]:
        answer = self._ask("POST", "/translate", {"text": texts, **self._options})
        try:
            translations = [
                RemoteTranslation(
                    item["text"], item["score"], tuple(item["flags"]), item.get("detected")
                )
                for item in answer["translations"]
            ]
        except (KeyError, TypeError):
            raise self._foreign("/translate") from None
        if len(translations) != len(texts):
            raise self._foreign("/translate")
        return translations

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        response = self._request(method, path, json=body)
        try:
            return response.json()
        except ValueError:
            raise self._foreign(path) from None

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._client.request(method, self._url + path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RemoteError(f"{self._url}{path}: {reason(error)}") from None
        if response.is_error:
            problem = f"{response.status_code} {_problem(response)}"
            raise RemoteError(f"{self._url}{path}: {problem}")
        return response

    def _foreign(self, path: str) -> RemoteError:
        return RemoteError(f"{self._url}{path}: not the answer of an attend server")


def _problem(response: httpx.Response) -> str:
    """Return the detail of a problem document (RFC 9457), or else the status phrase."""
    try:
        problem: Any = response.json()
        if "error" in problem:  # LibreTranslate's format, which /translate_file uses
            return str(problem["error"])
        parts = [problem.get("detail") or problem["title"]]
        parts += [f"{item['pointer']}: {item['detail']}" for item in problem.get("errors", [])]
        return "; ".join(parts)
    except (ValueError, KeyError, TypeError, AttributeError):
        return response.reason_phrase
