"""Documents in DeepL's dialect on the wire: upload, status and download."""

from pathlib import PurePath
from typing import Self

from pydantic import BaseModel, Field

from app.accounts.document_jobs import DocumentJob, Status
from app.errors import InvalidRequestError
from app.translation.file_service import translated_name
from app.wire.dialects.deepl import TranslationOptions
from app.wire.native.fields import LenientRequest

MAX_FILE_NAME = 1000


class DocumentRequest(TranslationOptions):
    """The fields of POST /v2/document beside `file`."""

    filename: str | None = Field(
        None, max_length=MAX_FILE_NAME, description="Name of the file, instead of its own."
    )
    output_format: str | None = Field(
        None,
        max_length=20,
        description="Extension of the translation: only that of the file, or txt for PDF.",
    )

    def name_of(self, uploaded: str) -> str:
        """Return the document's name, whose extension is its format.

        Raises `InvalidRequestError` if another output format is requested.
        """
        name = PurePath((self.filename or uploaded).replace("\\", "/")).name
        # The official client names a format if it differs from the file's, such as txt for PDF.
        requested = (self.output_format or PurePath(name).suffix).lower().lstrip(".")
        written = PurePath(translated_name(name, "")).suffix.lower().lstrip(".")
        if written and requested != written:  # a file without an extension is refused as such
            raise InvalidRequestError.at(
                "/output_format", f"Only {written} is supported for this document"
            )
        return name


class DocumentKey(LenientRequest):
    """The secret that a client needs to see a document."""

    document_key: str = Field(max_length=100)


class DocumentHandle(BaseModel):
    """The response of POST /v2/document: both are needed for the other routes."""

    document_id: str = Field(examples=["04DE5AD98A02647D83285A36021911C6"])
    document_key: str

    @classmethod
    def of(cls, job: DocumentJob) -> Self:
        return cls(document_id=job.id, document_key=job.key)


class DocumentStatus(BaseModel):
    """The response of POST /v2/document/{document_id}."""

    document_id: str
    status: Status
    seconds_remaining: int | None = Field(None, description="estimate, while translating")
    billed_characters: int | None = Field(None, description="once it is done")
    error_message: str | None = Field(None, description="if it failed")

    @classmethod
    def of(cls, job: DocumentJob, error_message: str | None) -> Self:
        return cls(
            document_id=job.id,
            status=job.status,
            seconds_remaining=job.seconds_remaining,
            billed_characters=job.n_characters if job.status == "done" else None,
            error_message=error_message,
        )
