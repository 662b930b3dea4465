"""OpenAI's dialect on the wire: a chat whose answer is the translation of the user's last message.

Facts: https://platform.openai.com/docs/api-reference/chat. The target is that of the model's name
(`attend-fr`), else the language that the system message names, else that of an instruction which
precedes the text; without any, the only partner of the text's language.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal, Self
from uuid import uuid4

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.errors import InvalidRequestError
from app.languages.served import AUTO, language_name, own_name
from app.translation.answers import Event, TokenEvent, TranslateAnswer
from app.wire.native.fields import LenientRequest
from app.wire.native.requests import TranslateRequest

MODEL = "attend"
"""The name of the model that translates into any language, and the prefix of the others."""

MAX_SYSTEM_CHARACTERS = 20_000

_CHUNK = "chat.completion.chunk"

_INTO = re.compile(r"(?:\b(?:to|into|in|en|vers|nach|ins|auf)|成|为|為|到)\W*(?:the\s+)?$", re.I)
_FROM = re.compile(r"(?:\b(?:from|of|de|du|von|aus)|从|從)\W*(?:the\s+)?$", re.I)


class TextPart(BaseModel):
    """A part of a message."""

    type: Literal["text"]
    text: str


def _content(value: Any) -> Any:
    if isinstance(value, str) or (
        isinstance(value, list)
        and all(
            isinstance(part, dict)
            and part.get("type") == "text"
            and isinstance(part.get("text"), str)
            for part in value
        )
    ):
        return value
    raise PydanticCustomError("content", "Input should be a string or a list of parts of type text")


class Message(BaseModel):
    """A message of the conversation."""

    role: str
    content: Annotated[str | list[TextPart], BeforeValidator(_content)]

    @property
    def text(self) -> str:
        parts = self.content
        return parts if isinstance(parts, str) else "\n".join(part.text for part in parts)


class StreamOptions(BaseModel):
    """Optional parts of a stream."""

    include_usage: bool = False


class ChatRequest(LenientRequest):
    """The body of POST /v1/chat/completions; fields that sample or limit have no effect."""

    model: str = Field(MODEL, max_length=200)
    messages: list[Message] = Field(min_length=1, fail_fast=True)
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()

    def native(self, targets: Sequence[str]) -> TranslateRequest:
        """Return the equivalent native request, into one of the served languages.

        Raises `InvalidRequestError`.
        """
        texts = [one.text for one in self.messages if one.role == "user"]
        if not texts:
            raise InvalidRequestError.at("/messages", "Expected a message with the role user")
        instructions = "\n".join(
            one.text for one in self.messages if one.role in ("system", "developer")
        )
        if len(instructions) > MAX_SYSTEM_CHARACTERS:
            detail = f"The system message should have at most {MAX_SYSTEM_CHARACTERS:,} characters"
            raise InvalidRequestError.at("/messages", detail)
        prompt_target, text = without_prompt(texts[-1], targets)
        target = self._target(instructions, targets) or prompt_target
        if target != prompt_target:
            text = texts[-1]
        return TranslateRequest.of(text, AUTO, target)

    def _target(self, instructions: str, targets: Sequence[str]) -> str | None:
        prefix, _, code = self.model.partition("-")
        if prefix == MODEL and code:
            return code
        return named_target(instructions, targets)


def named_target(instructions: str, targets: Sequence[str]) -> str | None:
    """Return the target language that instructions name, in English or in itself, if any.

    A language after "to" or "into" is preferred to the last one; one after "from" is the source.
    """
    codes, name, _ = _named(tuple(targets))
    last = None
    for match in name.finditer(instructions):
        before = instructions[max(0, match.start() - 20) : match.start()]
        if _INTO.search(before):
            return codes[match[0].lower()]
        if not _FROM.search(before):
            last = codes[match[0].lower()]
    return last


def without_prompt(text: str, targets: Sequence[str]) -> tuple[str | None, str]:
    """Return the target that an instruction before the text names, if any, and the text after it.

    Clients write "Translate the following text to French:", or a paragraph without a colon.
    """
    codes, _, prompt = _named(tuple(targets))
    match = prompt.match(text)
    return (codes[match[1].lower()], text[match.end() :]) if match else (None, text)


@lru_cache(maxsize=4)
def _named(
    targets: tuple[str, ...],
) -> tuple[Mapping[str, str], re.Pattern[str], re.Pattern[str]]:
    """Return the codes by name in lower case, a pattern of a name, and one of an instruction."""
    codes: dict[str, str] = {}
    for code in targets:
        codes.setdefault(language_name(code).lower(), code)
        codes.setdefault(own_name(code).lower(), code)
    names = "|".join(re.escape(name) for name in sorted(codes, key=len, reverse=True))
    name = rf"(?<![a-z])({names})(?![a-z])"
    prompt = (
        rf"\s*(?:please\s+)?translate\b[^\n:]{{0,100}}?\b(?:in)?to\s+(?:the\s+)?{name}"
        r"[^\n:]{0,200}(?::\s*|\n\s*\n)(?=\S)"
    )
    return codes, re.compile(name, re.I), re.compile(prompt, re.I)


@dataclass(frozen=True)
class Chat:
    """A response, as a whole or in chunks, which have these members in common.

    with_usage  whether a stream ends with a chunk of usage
    """

    model: str
    with_usage: bool = False
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))
    _first: dict[str, str] = field(
        init=False, default_factory=lambda: {"role": "assistant", "content": ""}
    )

    def answer(self, answer: TranslateAnswer) -> Any:
        message = {"role": "assistant", "content": answer.translations[0].text}
        return self._object("chat.completion", {"message": message}, "stop") | _usage(answer)

    def event(self, event: Event) -> bytes:
        return self._chunk({"content": event.text}) if isinstance(event, TokenEvent) else b""

    async def done(self, answer: TranslateAnswer) -> bytes:
        end = self._chunk({}, "stop")
        if self.with_usage:
            empty = self._object(_CHUNK, {}, None) | {"choices": []}
            end += _data(empty | _usage(answer))
        return end + b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, str], reason: str | None = None) -> bytes:
        """Write a chunk. Only the first has the role: clients require it, and join repetitions."""
        delta = self._first | delta
        self._first.clear()
        return _data(self._object(_CHUNK, {"delta": delta}, reason))

    def _object(self, kind: str, choice: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, **choice, "finish_reason": reason}],
        }


def _usage(answer: TranslateAnswer) -> dict[str, dict[str, int]]:
    read, written = answer.usage.source_tokens, answer.usage.target_tokens
    tokens = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {"usage": tokens}


def _data(chunk: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps(chunk).encode()


class OpenAIModel(BaseModel):
    """A name that `model` may have."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = MODEL


class OpenAIModels(BaseModel):
    """The response of /v1/models."""

    object: Literal["list"] = "list"
    data: list[OpenAIModel]

    @classmethod
    def of(cls, targets: Iterable[str]) -> Self:
        names = [MODEL, *(f"{MODEL}-{code}" for code in targets)]
        return cls(data=[OpenAIModel(id=name) for name in names])


class OpenAIErrorBody(BaseModel):
    """The reason of an error; `type` is `invalid_request_error` or `server_error`."""

    message: str
    type: str
    param: str | None = None
    code: str


class OpenAIError(BaseModel):
    """Every error response of this dialect."""

    error: OpenAIErrorBody
