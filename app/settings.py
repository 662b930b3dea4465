"""What an operator may set: each has an environment variable `ATTEND_*` and a flag."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingsError
from app.observe.logs import LogFormat
from app.shipped import SHIPPED_CHECKPOINT
from model.engine.protocol import PrecisionChoice
from model.transformer.config import describe_validation

ENV_PREFIX = "ATTEND_"
_KEY = re.compile(r"[!-+\x2d-~]{1,200}")


def _folders(value: Any) -> Any:
    """One folder, several, or several in a string, as a variable such as PATH has them."""
    if isinstance(value, str):
        return [folder for folder in value.split(os.pathsep) if folder]
    return [value] if isinstance(value, Path) else value


def _keys(value: Any) -> Any:
    """Keys, or several in a string with commas between."""
    if isinstance(value, str):
        value = [key.strip() for key in value.split(",")]
    if not isinstance(value, list | tuple) or not value:
        return value
    if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in value):
        # The message must not quote a key.
        raise PydanticCustomError("keys", "a key is of 1 to 200 visible ASCII characters, no comma")
    return tuple(value)


def _commas(value: Any) -> Any:
    """Several in a string, with commas between."""
    return [one.strip() for one in value.split(",")] if isinstance(value, str) else value


class Settings(BaseSettings):
    """Frozen; a flag beats the environment, which beats the default."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="forbid")

    checkpoint: Annotated[tuple[Path, ...], BeforeValidator(_folders), NoDecode] = Field(
        (SHIPPED_CHECKPOINT,), min_length=1,
        description="Checkpoint folder, the shipped one by default; repeat the flag for several.",
    )  # fmt: skip
    cache: Path | None = Field(
        None, description="Folder that keeps imported Marian models; by default the user's."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    admin_host: str = Field("127.0.0.1", description="Address of the admin port.")
    admin_port: int | None = Field(
        None, ge=0, le=65_535, description="Port of POST /reload and GET /metrics; none by default."
    )
    page: bool = Field(
        True, description="Serve the page at / and the reference of the API at /docs."
    )
    cors_origins: Annotated[tuple[str, ...] | None, BeforeValidator(_commas), NoDecode] = Field(
        None,
        description="Origins whose pages may ask, as https://a.example,https://b.example; or *.",
    )
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, …; auto takes a GPU if any.")
    precision: PrecisionChoice = Field(
        "auto", description="auto, int8 or fp32; auto is int8 on a CPU."
    )
    threads: int | None = Field(
        None, ge=1, description="CPU cores that translate, an engine on each; all by default."
    )
    max_concurrent_requests: int = Field(
        512, ge=1, description="Requests admitted at a time; further ones are answered 429."
    )
    max_batch_tokens: int = Field(
        16_384, ge=1, description="Source tokens, padding included, of the sentences in flight."
    )
    max_queue_tokens: int = Field(
        262_144,
        ge=1,
        description="Source tokens that wait, of lists and of others each; beyond it is 429.",
    )
    requests_per_minute: int | None = Field(
        None, ge=1, description="Requests of a client, by key or else address; any by default."
    )
    characters_per_minute: int | None = Field(
        None, ge=1, description="Characters of a client's requests; any by default."
    )
    max_connections: int = Field(
        1000, ge=1, description="Connections at a time; beyond, idle and unfinished ones give way."
    )
    head_timeout: float = Field(
        10.0, gt=0, description="Seconds that the headers of a request may take to arrive."
    )
    body_timeout: float = Field(
        30.0, gt=0, description="Seconds that its body may then take to arrive."
    )
    write_timeout: float = Field(
        30.0, gt=0, description="Seconds in which a client has to read some of its answer."
    )
    max_unsent_bytes: int = Field(
        256_000_000, ge=1,
        description="Bytes of answers kept until clients read them; the slowest are then closed.",
    )  # fmt: skip
    max_texts: int = Field(10_000, ge=1, description="Texts in one request.")
    max_text_characters: int = Field(250_000, ge=1, description="Characters of one text.")
    max_body_bytes: int = Field(2_000_000, ge=1, description="Bytes of a request's body.")
    api_keys: Annotated[tuple[SecretStr, ...] | None, BeforeValidator(_keys), NoDecode] = Field(
        None, description="Keys, with commas between, of which clients need one; none by default."
    )
    character_limit: int | None = Field(
        None, ge=1,
        description="Characters that a key may have translated in a calendar month (UTC).",
    )  # fmt: skip
    data: Path | None = Field(
        None,
        description="Folder that keeps usage and stored glossaries; else both are in memory alone.",
    )
    max_file_bytes: int = Field(10_000_000, ge=1, description="Bytes of an uploaded file.")
    max_file_characters: int = Field(
        1_000_000, ge=1, description="Characters to translate in one file."
    )
    max_concurrent_files: int = Field(
        4, ge=1, description="Files translated at a time; further ones are answered 429."
    )
    file_timeout: float = Field(
        600.0, gt=0, le=86_400, description="Seconds a file may take before it is answered 504."
    )
    file_lifetime: float = Field(
        1200.0, gt=0, description="Seconds that a translated file can be downloaded."
    )
    max_stored_bytes: int = Field(
        100_000_000, ge=1,
        description="Bytes of all translated files that are kept; the oldest goes first.",
    )  # fmt: skip
    max_attention_weights: int = Field(
        2_000_000, ge=1, description="Attention weights in one answer."
    )
    sentence_cache_bytes: int = Field(
        64_000_000, ge=0,
        description="Memory for translated sentences of each checkpoint; 0 translates each anew.",
    )  # fmt: skip
    request_timeout: float = Field(
        30.0, gt=0, le=3600, description="Seconds a request may take before it is answered 504."
    )
    engine_timeout: float = Field(
        120.0, gt=0, description="Seconds in a step after which an engine hangs: /livez fails."
    )
    drain_delay: float = Field(
        0.0, ge=0, le=3600,
        description="Seconds between SIGTERM, when /readyz fails, and the end of new work.",
    )  # fmt: skip
    shutdown_timeout: int = Field(
        30, ge=0, description="Seconds that admitted requests then get to finish."
    )
    log_format: LogFormat = Field(
        "json", description="Form of the log: json, or console for people."
    )
    otlp_endpoint: str | None = Field(
        None, description="Where traces go, as http://collector:4318; nowhere by default."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severity that is logged: debug, info, warning or error."
    )

    @classmethod
    def parse(cls, **given: Any) -> Self:
        """Settings from values given and the environment. Raises `SettingsError`, one line."""
        try:
            return cls(**given)
        except ValidationError as error:
            raise SettingsError(describe_validation(error)) from None


def unknown_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Variables that begin as a setting's and are none, with the one that may be meant.

    They are no error: Kubernetes sets `ATTEND_SERVICE_HOST` beside a Service called attend.
    """
    known = [env_name(setting) for setting in Settings.model_fields]
    return {
        name: next(iter(get_close_matches(name.upper(), known, n=1, cutoff=0.8)), None)
        for name in environment
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in known
    }


def env_name(setting: str) -> str:
    """The environment variable of a setting."""
    return ENV_PREFIX + setting.upper()
