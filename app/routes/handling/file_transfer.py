"""Uploads of files as multipart/form-data, and downloads."""

import asyncio
import re
from http import HTTPStatus
from pathlib import PurePath
from urllib.parse import quote, unquote

from fastapi import HTTPException, Request, Response
from starlette.datastructures import FormData, UploadFile

from app.accounts.result_files import StoredFile
from app.errors import DeadlineExceededError, InvalidRequestError
from app.routes.handling.body import parse_multipart, read_body, unsupported
from app.settings import Settings
from app.wire.failures import FORMS, media_type

FORM = FORMS[1]
MAX_FIELDS = 30
MAX_FIELD_BYTES = 10_000
OVERHEAD_BYTES = 100_000
"""Bytes of a form besides its file."""


def check_form(request: Request) -> None:
    """Raise `HTTPException` 415 if the body is not multipart/form-data."""
    if media_type(request.headers) != FORM:
        raise unsupported(FORM)


async def read_form(request: Request, settings: Settings) -> FormData:
    """Read a form with a file, in memory.

    Raises as `check_form` and `read_body`, `MalformedFormError`, `DeadlineExceededError`.
    """
    check_form(request)
    try:
        async with asyncio.timeout(settings.request_timeout):  # it occupies a slot meanwhile
            body = await read_body(request, settings.max_file_bytes + OVERHEAD_BYTES)
    except TimeoutError:
        raise DeadlineExceededError(
            f"the file did not arrive within {settings.request_timeout:g} s"
        ) from None
    return await parse_multipart(
        request.headers, body, max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES
    )


_FILE_NAME = re.compile(r"filename\*=utf-8''([^\s;]+)", re.I)
"""A file's name as .NET's HttpClient also sends it: outside of ASCII, its `filename` is encoded as
in e-mail, and so has no extension."""


async def uploaded_file(form: FormData, max_bytes: int) -> tuple[str, bytes]:
    """Return the name of a form's `file`, without folders, and its content.

    Raises `InvalidRequestError`, `HTTPException` 413.
    """
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidRequestError.at("/file", "Field required, a file with its name")
    data = await file.read()
    if len(data) > max_bytes:
        raise HTTPException(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a file may have at most {max_bytes:,} bytes"
        )
    extended = _FILE_NAME.search(file.headers.get("content-disposition", ""))
    name = unquote(extended[1]) if extended else file.filename
    return PurePath(name.replace("\\", "/")).name, data


def as_download(file: StoredFile, media_type: str) -> Response:
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
