"""The server's settings, each with an environment variable `ATTEND_*` and a flag."""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ByteSize,
    Field,
    NonNegativeInt,
    PositiveInt,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingsError
from app.observe.logs import LogFormat
from app.shipped import SHIPPED_CHECKPOINT
from model.engine.protocol import PrecisionChoice
from model.transformer.config import describe_validation

ENV_PREFIX = "ATTEND_"
LIBRETRANSLATE_LANGUAGES = "LT_LOAD_ONLY"
_KEY = re.compile(r"[!-+\x2d-~]{1,200}")


def _folders(value: Any) -> Any:
    """Read one folder, several, or several in a string separated as in PATH."""
    if isinstance(value, str):
        return [folder for folder in value.split(os.pathsep) if folder]
    return [value] if isinstance(value, Path) else value


def _keys(value: Any) -> Any:
    """Read a list of keys, or a comma-separated string."""
    if isinstance(value, str):
        value = [key.strip() for key in value.split(",")]
    if not isinstance(value, list | tuple) or not value:
        return value
    if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in value):
        # The message must not quote a key.
        raise PydanticCustomError("keys", "a key has 1 to 200 visible ASCII characters, no comma")
    return tuple(value)


def _commas(value: Any) -> Any:
    """Read a comma-separated string."""
    return [one.strip() for one in value.split(",")] if isinstance(value, str) else value


Port = Annotated[int, Field(ge=0, le=65_535)]
OptionalFolder = Annotated[Path | None, BeforeValidator(lambda value: value or None)]
"""An empty variable is one that is not set; an empty path would be the current folder."""


class Settings(BaseSettings):
    """The settings. Frozen; flags override the environment, which overrides defaults."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    checkpoint: Annotated[tuple[Path, ...], BeforeValidator(_folders), NoDecode] = (
        SHIPPED_CHECKPOINT,
    )
    """Checkpoint folder, by default the shipped one; repeat the flag for several."""
    models: OptionalFolder = None
    """Folder of models, each in a folder of its own, which are loaded on demand."""
    model_memory: Annotated[ByteSize | None, Field(gt=0)] = None
    """Memory for loaded models, such as 2GB; by default half of what there is."""
    model_idle_seconds: Annotated[float | None, Field(gt=0)] = None
    """Seconds after which an unused model of --models is unloaded; by default never."""
    pin: Annotated[tuple[str, ...], BeforeValidator(_commas), NoDecode] = ()
    """Name of a model of --models that stays loaded; repeat the flag for several."""
    languages: Annotated[
        tuple[str, ...] | None, Field(min_length=1), BeforeValidator(_commas), NoDecode
    ] = None
    """Languages to translate between, such as en,de,fr; by default all."""
    pull: Annotated[str | None, Field(min_length=1)] = None
    """Fetch missing models of --languages at start: firefox, or a mirror's models.json."""
    cache: OptionalFolder = None
    """Cache folder for imported Marian models; by default the user's."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Port = 8000
    """Port to listen on; 0 chooses a free one."""
    admin_host: str = "127.0.0.1"
    """Address of the admin port."""
    admin_port: Port | None = None
    """Port for POST /reload and GET /metrics; none by default."""
    page: bool = True
    """Serve the page at / and the API reference at /docs."""
    public_url: Annotated[str | None, Field(pattern=r"^https?://[^\s/?#@]+[^\s?#]*$")] = None
    """URL of the server as clients see it, for links in answers."""
    cors_origins: Annotated[tuple[str, ...] | None, BeforeValidator(_commas), NoDecode] = None
    """Origins allowed by CORS, or *, or none; by default * on LibreTranslate's paths."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, xpu, mps, or several: cuda:0,cuda:1; auto uses a GPU if any."""
    precision: PrecisionChoice = "auto"
    """auto, int8, fp32, bf16 or fp16; auto is int8 on a CPU, bf16 on a GPU that has it."""
    threads: PositiveInt | None = None
    """CPU cores to use, with one engine on each; by default all."""
    max_concurrent_requests: PositiveInt = 512
    """Maximum concurrent requests; further ones get 429."""
    max_batch_tokens: PositiveInt = 16_384
    """Maximum source tokens in an engine at a time, including padding."""
    requests_per_minute: PositiveInt | None = None
    """Maximum requests per client (key or address); unlimited by default."""
    characters_per_minute: PositiveInt | None = None
    """Maximum characters in a client's requests; unlimited by default."""
    max_texts: PositiveInt = 10_000
    """Maximum texts per request."""
    max_text_characters: PositiveInt = 250_000
    """Maximum characters per text."""
    max_body_bytes: PositiveInt = 2_000_000
    """Maximum bytes of a request body."""
    api_keys: Annotated[tuple[SecretStr, ...] | None, BeforeValidator(_keys), NoDecode] = None
    """Comma-separated API keys; clients must present one. None by default."""
    character_limit: PositiveInt | None = None
    """Maximum characters per key and calendar month (UTC)."""
    data: OptionalFolder = None
    """Folder for usage and stored glossaries; by default both are only in memory."""
    max_file_bytes: PositiveInt = 10_000_000
    """Maximum bytes of an uploaded file."""
    max_file_characters: PositiveInt = 1_000_000
    """Maximum characters to translate per file."""
    file_timeout: Annotated[float, Field(gt=0, le=86_400)] = 600.0
    """Seconds after which a file gets 504."""
    sentence_cache_bytes: NonNegativeInt = 32_000_000
    """Bytes of the cache of sentences per checkpoint; 0 disables it."""
    request_timeout: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """Seconds after which a request gets 504."""
    drain_delay: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Seconds for which requests are accepted after SIGTERM, while /readyz fails."""
    shutdown_timeout: NonNegativeInt = 30
    """Seconds for admitted requests to finish after that."""
    log_format: LogFormat = "auto"
    """Log format: json, console for people, or auto: console on a terminal, else json."""
    otlp_endpoint: str | None = None
    """Collector for traces, such as http://collector:4318; none by default."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum severity to log: debug, info, warning or error."""

    @model_validator(mode="before")
    @classmethod
    def _shipped_checkpoint_unless_others(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {"checkpoint": ()} | values if values.get("models") else values

    @model_validator(mode="after")
    def _some_model(self) -> Self:
        if not self.checkpoint and not self.models:
            raise PydanticCustomError(
                "models", "'checkpoint': give at least one, or a folder of them as 'models'"
            )
        if self.pin and not self.models:
            raise PydanticCustomError(
                "models", "'pin': needs 'models'; a 'checkpoint' always stays loaded"
            )
        if self.pull and not self.languages:
            raise PydanticCustomError("pull", "'pull': needs 'languages', such as en,fr,de")
        return self

    @classmethod
    def parse(cls, **given: Any) -> Self:
        """Parse given values and the environment. Raises `SettingsError` with one line.

        `LT_LOAD_ONLY`, LibreTranslate's variable, stands for `ATTEND_LANGUAGES` if that is not set.
        """
        only = os.environ.get(LIBRETRANSLATE_LANGUAGES)
        if only and "languages" not in given and env_name("languages") not in os.environ:
            given["languages"] = only
        try:
            return cls(**given)
        except ValidationError as error:
            raise SettingsError(describe_validation(error)) from None


def unknown_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Return variables with the prefix of settings that are none, and the one that may be meant.

    They only cause a warning: Kubernetes sets `ATTEND_SERVICE_HOST` for a Service called attend.
    """
    known = [env_name(setting) for setting in Settings.model_fields]
    return {
        name: next(iter(get_close_matches(name.upper(), known, n=1, cutoff=0.8)), None)
        for name in environment
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in known
    }


def env_name(setting: str) -> str:
    """Return the environment variable of a setting."""
    return ENV_PREFIX + setting.upper()
