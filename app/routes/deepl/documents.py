"""Documents in DeepL's dialect: uploaded, translated in the background, downloaded once."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from starlette.background import BackgroundTask

from app.accounts.clients import Client
from app.accounts.document_jobs import DocumentJob, DocumentJobs, Work
from app.accounts.result_files import StoredFile
from app.documents.files import FORMATS
from app.errors import InvalidRequestError
from app.observe.logs import log_failure
from app.routes.deepl.chosen_entries import chosen_entries
from app.routes.handling.body import gather
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import (
    CurrentDocuments,
    CurrentLedger,
    CurrentSettings,
    KnownClient,
    ReadyRuntime,
    SentParameters,
)
from app.routes.handling.file_transfer import as_download, check_form, read_form, uploaded_file
from app.routes.handling.responses import while_connected
from app.routes.handling.routing import Router
from app.runtime import Lifecycle, Runtime
from app.settings import Settings
from app.translation.file_service import FileRequest, translated_name
from app.wire.dialects.deepl_documents import (
    DocumentHandle,
    DocumentKey,
    DocumentRequest,
    DocumentStatus,
)
from app.wire.failures import message_of
from app.wire.openapi import deepl_errors, query_parameters, request_body, upload_body
from app.wire.problems import kind_of

STATUS_WAIT = 1.0
"""Seconds that a request for the status waits for the end of a translation. Official clients ask at
once after the upload and then every five seconds, so a short document would take five."""

_DOWNLOAD: dict[str, Any] = {
    one.media_type: {"schema": {"type": "string", "format": "binary"}} for one in FORMATS.values()
}

_KEY: dict[str, Any] = {"openapi_extra": request_body(DocumentKey, form=DocumentKey)}

router = Router(prefix="/v2/document", tags=["DeepL"])


@router.post(
    "",
    openapi_extra=upload_body(DocumentRequest),
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503),
)
async def deepl_upload_document(
    *,
    request: Request,
    response: Response,
    client: KnownClient,
    settings: CurrentSettings,
    runtime: ReadyRuntime,
    jobs: CurrentDocuments,
    ledger: CurrentLedger,
) -> DocumentHandle:
    """Upload a document; it is checked at once and translated in the background."""
    check_form(request)
    jobs.check(client.turn, 0)
    async with runtime.files.upload_slot():
        upload, headers = await _read_upload(request, client, settings)
        # It is parsed again when its turn comes: until then, only the file is kept.
        n_characters = await while_connected(request, runtime.files.checked(upload))
    spend(request, client, n_characters)
    jobs.check(client.turn, len(upload.data))
    job = jobs.submit(
        client.account,
        client.turn,
        _translation(request.app.state.lifecycle, client, upload),
        n_bytes=len(upload.data),
        n_characters=n_characters,
        refund=ledger.take(client.account, n_characters),
    )
    response.headers.update(headers)
    return DocumentHandle.of(job)


async def _read_upload(
    request: Request, client: Client, settings: Settings
) -> tuple[FileRequest, Mapping[str, str]]:
    """Return the document, and headers for the response."""
    form = await read_form(request, settings)
    try:
        fields = [(name, one) for name, one in form.multi_items() if isinstance(one, str)]
        options = DocumentRequest.parse(gather(fields))
        name, data = await uploaded_file(form, settings.max_file_bytes)
    finally:
        await form.close()
    entries = await chosen_entries(request, client, options)
    name, source = options.name_of(name), options.source_lang or "auto"
    upload = FileRequest(name, data, source, options.target_lang, glossary=entries)
    return upload, options.headers


def _translation(lifecycle: Lifecycle, client: Client, upload: FileRequest) -> Work:
    """Return the work of a document's translation, with the models that are served then."""

    async def translate(runtime: Runtime, deadline: float, job: DocumentJob) -> StoredFile:
        job.begin()
        async with runtime.files.opened(upload, client.turn) as opened:
            if not opened.path.models:
                raise InvalidRequestError.at("", "Source and target language are equal")
            done = await runtime.files.translate_file(opened, deadline, job.advance, client.turn)
        name = translated_name(upload.name, done.target)
        return StoredFile(done.data, name, done.media_type, client.account)

    async def work(job: DocumentJob) -> StoredFile:
        try:
            while True:
                runtime = lifecycle.open
                async with runtime.files.slot_in_turn() as deadline:
                    if runtime is not lifecycle.open:
                        continue  # a reload replaced the models while it waited
                    release = runtime.hold()
                    try:
                        return await translate(runtime, deadline, job)
                    finally:
                        release()
        except Exception as error:
            if kind_of(error).status == HTTPStatus.INTERNAL_SERVER_ERROR:
                log_failure(error)
            raise

    return work


async def _found(
    document_id: str, client: KnownClient, jobs: CurrentDocuments, parameters: SentParameters
) -> DocumentJob:
    """Return the client's document with this id and key. Raises as `DocumentJobs.find`."""
    return jobs.find(document_id, DocumentKey.parse(parameters).document_key, client.account)


_Job = Annotated[DocumentJob, Depends(_found)]


@router.post(
    "/{document_id}",
    response_model_exclude_none=True,
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 503),
    **_KEY,
)
async def deepl_document_status(
    request: Request, job: _Job, jobs: CurrentDocuments
) -> DocumentStatus:
    """A document's status; the answer may wait a second for the translation to end."""
    await while_connected(request, jobs.wait(job, STATUS_WAIT))
    return DocumentStatus.of(job, message_of(job.error, "deepl") if job.error else None)


@router.post(
    "/{document_id}/result",
    response_class=Response,
    responses={200: {"content": _DOWNLOAD}, **deepl_errors(400, 403, 404, 413, 415, 429, 503)},
    **_KEY,
)
async def deepl_download_document(job: _Job, jobs: CurrentDocuments) -> Response:
    """The translated document, which is then deleted."""
    file = jobs.file(job)
    response = as_download(file, file.media_type)
    response.background = BackgroundTask(_forget, jobs, job)  # once it is sent
    return response


async def _forget(jobs: DocumentJobs, job: DocumentJob) -> None:
    jobs.delete(job)


@router.delete(
    "/{document_id}",
    status_code=HTTPStatus.NO_CONTENT,
    openapi_extra=query_parameters("document_key"),
    responses=deepl_errors(400, 403, 404, 413, 415, 503),
)
async def deepl_delete_document(job: _Job, jobs: CurrentDocuments) -> Response:
    """Stop a document's translation, and delete it."""
    jobs.delete(job)
    return Response(status_code=HTTPStatus.NO_CONTENT)
