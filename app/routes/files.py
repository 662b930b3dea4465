"""POST /translate_file and GET /download_file, as in LibreTranslate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from http import HTTPStatus
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, Field
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.accounts.result_files import StoredFile
from app.documents.files import FORMATS, SUFFIXES
from app.errors import DeadlineExceededError, InvalidRequestError, MalformedFormError
from app.routes.handling.access import client_of
from app.routes.handling.body import read_body
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import (
    CurrentDownloads,
    CurrentLedger,
    CurrentSettings,
    ReadyRuntime,
)
from app.routes.handling.disconnect import while_connected
from app.settings import Settings
from app.translation.file_service import FileRequest, translated_name
from app.wire.failures import FORMS, media_type
from app.wire.openapi import DOWNLOAD_PATH, libretranslate_errors

FORM = FORMS[1]
MAX_FIELDS = 20
MAX_FIELD_BYTES = 10_000
OVERHEAD_BYTES = 100_000
"""Bytes of a form besides its file."""

router = APIRouter(tags=["LibreTranslate"])

_FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": "one of " + ", ".join(SUFFIXES) + "; determined by its name",
        },
        "source": {"type": "string", "description": "BCP-47 code, or auto"},
        "target": {"type": "string", "description": "BCP-47 code"},
        "api_key": {"type": "string", "description": "if one is required"},
    },
}
_JSON = "application/json"
_BINARY = "application/octet-stream"
_FILE_ANSWER: dict[str, Any] = {
    media_type: {"schema": {"type": "string", "format": "binary"}}
    for media_type in (_BINARY, *(one.media_type for one in FORMATS.values()))
    if media_type != _JSON
}


class TranslateFileAnswer(BaseModel):
    """The response of POST /translate_file."""

    translated_file_url: str = Field(
        alias="translatedFileUrl", description="temporary address of the translated file"
    )


@router.post(
    "/translate_file",
    response_model=TranslateFileAnswer,
    openapi_extra={"requestBody": {"required": True, "content": {FORM: {"schema": _FORM_SCHEMA}}}},
    responses={
        200: {"content": _FILE_ANSWER},
        **libretranslate_errors(400, 403, 413, 415, 429, 500, 503, 504),
    },
)
async def translate_file(
    request: Request,
    settings: CurrentSettings,
    runtime: ReadyRuntime,
    ledger: CurrentLedger,
    downloads: CurrentDownloads,
) -> Response:
    """Translate a file. With `Accept: application/octet-stream`, the response is the file."""
    async with runtime.files.place() as deadline:
        form = await _read_form(request, settings)
        try:
            key = form.get("api_key") or request.query_params.get("api_key")
            client = client_of(request, key)
            wanted = await _read_upload(form, settings.max_file_bytes)
        finally:
            await form.close()
        opened = await runtime.files.open(wanted)
        spend(request, client, opened.characters)
        with ledger.charge(client.account, opened.characters):
            done = await while_connected(
                request, runtime.files.translate(opened, deadline, client=client.turn)
            )
    file = StoredFile(done.data, translated_name(wanted.name, done.target), done.media_type)
    if _names_first(request, _BINARY, done.media_type):
        # A JSON response is the address of the file, never the file.
        return _as_download(file, _BINARY if done.media_type == _JSON else done.media_type)
    name = downloads.put(file, PurePath(wanted.name).suffix.lower())
    url = str(request.url_for("download_file", name=name))
    answer = TranslateFileAnswer(translatedFileUrl=url)
    return Response(answer.model_dump_json(by_alias=True), media_type=_JSON)


async def _name_in_path(request: Request) -> str:
    """Read from the request, since FastAPI would document an error response that never occurs."""
    name: str = request.path_params["name"]
    return name


@router.get(
    "/download_file/{name}",
    response_class=Response,
    openapi_extra=DOWNLOAD_PATH,
    responses={200: {"content": _FILE_ANSWER | {_JSON: {}}}, **libretranslate_errors(404)},
)
async def download_file(
    name: Annotated[str, Depends(_name_in_path)],
    downloads: CurrentDownloads,
) -> Response:
    """A translated file, until it expires. Knowing its name grants access."""
    file = downloads.get(name)
    if file is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no such file, or it has expired")
    return _as_download(file, file.media_type)


async def _read_form(request: Request, settings: Settings) -> FormData:
    """Read the form. Raises `HTTPException` 413 and 415, `MalformedFormError`,
    `DeadlineExceededError`, and as `client_of`.
    """
    if media_type(request.headers) != FORM:
        client_of(request, request.query_params.get("api_key"))  # only holders of a key learn more
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body should be {FORM}",
            headers={"Accept-Post": FORM},
        )  # fmt: skip
    try:
        async with asyncio.timeout(settings.request_timeout):  # it occupies a place meanwhile
            body = await read_body(request, settings.max_file_bytes + OVERHEAD_BYTES)
    except TimeoutError:
        raise DeadlineExceededError(
            f"the file did not arrive within {settings.request_timeout:g} s"
        ) from None

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, stream(), max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES
    )
    parser.spool_max_size = len(body) + 1  # never on disk
    try:
        return await parser.parse()
    except (MultiPartException, KeyError, ValueError):
        raise MalformedFormError(f"the body is not a form of {FORM} with one file") from None


async def _read_upload(form: FormData, max_bytes: int) -> FileRequest:
    """Read the file and its fields. Raises `InvalidRequestError`, `HTTPException` 413."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidRequestError.at("/file", "Field required, a file with its name")
    data = await file.read()
    if len(data) > max_bytes:
        raise HTTPException(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a file may have at most {max_bytes:,} bytes"
        )
    source, target = form.get("source"), form.get("target")
    return FileRequest(
        name=PurePath(file.filename.replace("\\", "/")).name,
        data=data,
        source=source if isinstance(source, str) and source else None,
        target=target if isinstance(target, str) and target else None,
    )


def _names_first(request: Request, *media_types: str) -> bool:
    """Whether the client prefers one of these types to JSON."""
    first, _, _ = request.headers.get("accept", "").partition(",")
    name = first.partition(";")[0].strip().lower()
    return name in media_types and name != _JSON


def _as_download(file: StoredFile, media_type: str) -> Response:
    """Return a file to be saved, never displayed: a page would run with this server's origin."""
    return Response(
        file.data,
        media_type=media_type,
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.file_name, safe='')}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )
