"""POST /translate_file and GET /download_file, as in LibreTranslate."""

from contextlib import AsyncExitStack
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any

from fastapi import HTTPException, Request, Response
from pydantic import BaseModel, Field
from starlette.datastructures import FormData

from app.accounts.result_files import StoredFile
from app.documents.files import FORMATS, SUFFIXES
from app.errors import InvalidRequestError
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import (
    CurrentDownloads,
    CurrentLedger,
    CurrentSettings,
    ReadyRuntime,
    client_of,
    holder_of,
)
from app.routes.handling.file_transfer import FORM, as_download, read_form, uploaded_file
from app.routes.handling.responses import while_connected
from app.routes.handling.routing import Router
from app.translation.file_service import FileRequest, translated_name
from app.wire.failures import media_type
from app.wire.native.fields import REPEATED
from app.wire.openapi import libretranslate_errors

router = Router(tags=["LibreTranslate"])

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
    kind: {"schema": {"type": "string", "format": "binary"}}
    for kind in (_BINARY, *(one.media_type for one in FORMATS.values()))
    if kind != _JSON
}


class TranslateFileAnswer(BaseModel):
    """The response of POST /translate_file."""

    translated_file_url: str = Field(
        alias="translatedFileUrl",
        description="temporary address of the translated file; without --public-url, a path unless "
        "the request was for an IP address or localhost",
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
    async with runtime.files.slot() as deadline, AsyncExitStack() as held:
        if media_type(request.headers) != FORM:
            client_of(request, _key_in_query(request))  # only holders of a key learn more
        form = await read_form(request, settings)
        try:
            client = client_of(request, _field(form, "api_key") or _key_in_query(request))
            name, data = await uploaded_file(form, settings.max_file_bytes)
            source, target = _field(form, "source"), _field(form, "target")
        finally:
            await form.close()
        upload = FileRequest(name, data, source, target)
        opening = held.enter_async_context(runtime.files.opened(upload, client.turn))
        opened = await while_connected(request, opening)
        spend(request, client, opened.characters)
        with ledger.charge(client.account, opened.characters):
            done = await while_connected(
                request, runtime.files.translate_file(opened, deadline, client=client.turn)
            )
    file = StoredFile(
        done.data, translated_name(name, done.target), done.media_type, client.account
    )
    if _names_first(request, _BINARY, done.media_type):
        # A JSON response is the address of the file, never the file.
        return as_download(file, _BINARY if done.media_type == _JSON else done.media_type)
    url = _address(request, settings.public_url, downloads.put(file))
    answer = TranslateFileAnswer(translatedFileUrl=url)
    return Response(answer.model_dump_json(by_alias=True), media_type=_JSON)


@router.get(
    "/download_file/{name}",
    response_class=Response,
    responses={200: {"content": _FILE_ANSWER | {_JSON: {}}}, **libretranslate_errors(403, 404)},
)
async def download_file(request: Request, name: str, downloads: CurrentDownloads) -> Response:
    """A translated file, until it expires. Knowing its name grants access, without a key or with
    the key that it was translated for."""
    file = downloads.get(name)
    holder = holder_of(request, _key_in_query(request))
    if file is None or (holder and holder.account != file.account):
        raise HTTPException(HTTPStatus.NOT_FOUND, "no such file, or it has expired")
    return as_download(file, file.media_type)


def _address(request: Request, public_url: str | None, name: str) -> str:
    """Return the URL of a stored file. A name in the header Host, which may be any, is left out."""
    if public_url:
        return f"{public_url.rstrip('/')}{request.app.url_path_for('download_file', name=name)}"
    url = request.url_for("download_file", name=name)
    try:
        ip_address(url.hostname or "")
    except ValueError:
        return str(url) if url.hostname == "localhost" else url.path
    return str(url)


def _field(form: FormData, name: str) -> str | None:
    """Return the value of a field, if any. Raises `InvalidRequestError` if it has several."""
    if len(form.getlist(name)) > 1:
        raise InvalidRequestError.at(f"/{name}", REPEATED)
    value = form.get(name)
    return value if isinstance(value, str) and value else None


def _key_in_query(request: Request) -> str | None:
    return request.query_params.get("api_key")


def _names_first(request: Request, *kinds: str) -> bool:
    """Whether the client prefers one of these types to JSON."""
    first, _, _ = request.headers.get("accept", "").partition(",")
    name = first.partition(";")[0].strip().lower()
    return name in kinds and name != _JSON
