"""POST /translate_file and GET /download_file, as LibreTranslate has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from http import HTTPStatus
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.documents.files import SUFFIXES
from app.errors import InvalidRequestError
from app.file_service import FileRequest, TranslatedFile, translated_name
from app.file_store import FileStore, StoredFile
from app.openapi import problem_answers
from app.routes.body import read_body
from app.routes.disconnect import while_connected
from app.routes.state import current_downloads, current_settings, ready_runtime
from app.runtime import Runtime
from app.settings import Settings

FORM = "multipart/form-data"
MAX_FIELDS = 20
MAX_FIELD_BYTES = 10_000
OVERHEAD_BYTES = 100_000
"""Of a form around its file."""

router = APIRouter(tags=["files"])

_FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": "one of " + ", ".join(SUFFIXES) + "; its name says which",
        },
        "source": {"type": "string", "description": "BCP-47 code"},
        "target": {"type": "string", "description": "BCP-47 code"},
        "api_key": {"type": "string"},
    },
}
_FILE_ANSWER = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


class TranslateFileAnswer(BaseModel):
    """The answer of POST /translate_file."""

    translated_file_url: str = Field(
        alias="translatedFileUrl", description="where the file is to be fetched, for a while"
    )


@router.post(
    "/translate_file",
    response_model=TranslateFileAnswer,
    openapi_extra={"requestBody": {"required": True, "content": {FORM: {"schema": _FORM_SCHEMA}}}},
    responses={
        200: {"content": _FILE_ANSWER},
        **problem_answers(404, 413, 415, 422, 429, 500, 503, 504),
    },
)
async def translate_file(
    request: Request,
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
    downloads: Annotated[FileStore, Depends(current_downloads)],
) -> Response:
    """Translate a file. With `Accept: application/octet-stream` the answer is the file itself."""
    async with runtime.files.place() as deadline:
        wanted = await _read_form(request, settings.max_file_bytes)
        done = await while_connected(request, runtime.files.translate(wanted, deadline))
    file = StoredFile(done.data, translated_name(wanted.name, done.target), done.media_type)
    if _wants_the_file(request, done):
        return _as_download(file)
    name = downloads.put(file, PurePath(wanted.name).suffix.lower())
    url = str(request.url_for("download_file", name=name))
    answer = TranslateFileAnswer(translatedFileUrl=url)
    return Response(answer.model_dump_json(by_alias=True), media_type="application/json")


@router.get(
    "/download_file/{name}",
    response_class=Response,
    responses={200: {"content": _FILE_ANSWER}, **problem_answers(404)},
)
async def download_file(
    name: str, downloads: Annotated[FileStore, Depends(current_downloads)]
) -> Response:
    """A translated file, until it expires."""
    file = downloads.get(name)
    if file is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "there is no such file, or no longer")
    return _as_download(file)


async def _read_form(request: Request, max_bytes: int) -> FileRequest:
    """Raises `HTTPException` 413 and 415, `InvalidRequestError`."""
    body = await read_body(request, max_bytes + OVERHEAD_BYTES)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body should be {FORM}",
            headers={"Accept-Post": FORM},
        )  # fmt: skip

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, stream(), max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES
    )
    parser.spool_max_size = len(body) + 1  # never on disk
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError):
        raise InvalidRequestError.at("/file", f"The body is not a form of {FORM}") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise InvalidRequestError.at("/file", "Field required, a file with its name")
        data, name = await file.read(), file.filename
    finally:
        await form.close()
    if len(data) > max_bytes:
        raise HTTPException(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a file may have {max_bytes:,} bytes at most"
        )
    source, target = form.get("source"), form.get("target")
    return FileRequest(
        name=PurePath(name.replace("\\", "/")).name,
        data=data,
        source=source if isinstance(source, str) and source else None,
        target=target if isinstance(target, str) and target else None,
    )


def _wants_the_file(request: Request, done: TranslatedFile) -> bool:
    """Whether it is what the client names first. By default clients accept anything."""
    first = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip().lower()
    is_json = first == "application/json"  # a client of the dialect that says what it reads
    return first in ("application/octet-stream", done.media_type) and not is_json


def _as_download(file: StoredFile) -> Response:
    """To be saved, never shown: a page from anywhere would run as one of this server's."""
    return Response(
        file.data,
        media_type=file.media_type,
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.file_name, safe='')}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )
