"""The registry of Firefox's translation models: its list, the choice of models, their files.

The registry is one JSON document, `models.json`: for each pair of languages the models that there
are, with the paths of their files below `baseUrl`. Files are gzipped. The list has the SHA-256 of
each model as unpacked, and no digest of the other files. The records of Firefox's own service
(`remote_settings`) are read as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self
from urllib.parse import urljoin

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.errors import PullError
from app.hub import remote_settings
from app.hub.origin import Origin
from app.hub.requests import FileServer, read_list
from model.text.language_codes import canonical_code, requested_codes

PREFIX = "firefox:"
"""Begins the names of these models, as in `firefox:en-fr`."""

PUBLIC_REGISTRY = (
    "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data"
    "/db/models.json"
)
LICENCE = "MPL-2.0"
PIVOT = "en"
"""Each model translates from or to this language."""

Architecture = Literal["tiny", "base-memory", "base"]
ARCHITECTURES: tuple[Architecture, ...] = ("base", "base-memory", "tiny")
"""From the best translations to the fastest."""

_PATH = r"^([\w.-]+/)*[\w.-]+$"
_NAME = re.compile(r"(model|lex|vocab|srcvocab|trgvocab)\.[\w.-]+")
_PACKED = (".gz", ".zst")
_CODE = r"^[A-Za-z]{2,3}([_-][A-Za-z]{2,8})*$"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class RegistryFile(_Record):
    """A file below the base URL; size and digest, where given, are of the unpacked content.

    published  the file's name, if the path does not end with it
    """

    path: str = Field(pattern=_PATH)
    published: str = ""
    size: int | None = Field(None, alias="uncompressedSize")
    digest: str | None = Field(None, alias="uncompressedHash")

    @property
    def name(self) -> str:
        """The name of the unpacked file."""
        return _unpacked(self.published or PurePosixPath(self.path).name)

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if not _NAME.fullmatch(self.name) or ".." in self.path:
            raise ValueError(f"{self.name!r} is not the name of a model file")
        return self

    @property
    def paths(self) -> list[str]:
        """Where a mirror may have it: as published, unpacked, or packed in another way."""
        plain = _unpacked(self.path)
        return list(dict.fromkeys([self.path, plain, *(plain + end for end in _PACKED)]))


def _unpacked(path: str) -> str:
    return path.removesuffix(_PACKED[0]).removesuffix(_PACKED[1])


class _Files(_Record):
    model: RegistryFile
    vocab: RegistryFile | None = None
    src_vocab: RegistryFile | None = Field(None, alias="srcVocab")
    trg_vocab: RegistryFile | None = Field(None, alias="trgVocab")
    shortlist: RegistryFile | None = Field(None, alias="lexicalShortlist")


class FirefoxModel(_Record):
    """A model of the registry."""

    architecture: str
    status: str | None = Field(None, alias="releaseStatus")
    source: str = Field(alias="sourceLanguage", pattern=_CODE)
    target: str = Field(alias="targetLanguage", pattern=_CODE)
    parts: _Files = Field(alias="files")

    @property
    def pair(self) -> str:
        """The pair, as in names: en-fr."""
        return f"{self.source}-{self.target}"

    @property
    def name(self) -> str:
        """The name under which its origin is recorded."""
        return f"{PREFIX}{self.pair}/{self.architecture}"

    @property
    def revision(self) -> str | None:
        """The digest of its weights."""
        return self.parts.model.digest

    @property
    def files(self) -> list[RegistryFile]:
        """The files to fetch: the smallest first."""
        parts = self.parts
        vocabularies = [parts.vocab] if parts.vocab else [parts.src_vocab, parts.trg_vocab]
        return [*(file for file in (*vocabularies, parts.shortlist) if file), parts.model]

    @property
    def is_released(self) -> bool:
        """Whether Firefox itself uses it, in any version."""
        return (self.status or "").startswith("Release")


class _List(_Record):
    base_url: str = Field(alias="baseUrl")
    models: dict[str, list[FirefoxModel]]


@dataclass(frozen=True)
class Registry:
    """The models of a registry; `base` is the URL or the folder of its files."""

    base: str
    models: Sequence[FirefoxModel]

    def choose(self, name: str, architecture: Architecture | None = None) -> list[FirefoxModel]:
        """Return the models of a name: the best one of each pair, or of an architecture.

        `firefox:en-fr` is one pair, `firefox:en,fr,de` all pairs that connect these languages,
        directly or through English, and `firefox:all` all that there are. Raises `PullError`.
        """
        found = {
            pair: best
            for pair in dict.fromkeys((one.source, one.target) for one in self.models)
            if (best := self._best(pair, architecture))
        }
        requested = name.removeprefix(PREFIX)
        if requested == "all":
            pairs = list(found)
        elif "," in requested:
            pairs = self._connecting(_codes(requested), found)
        else:
            pairs = [self._pair(requested, found)]
        return [found[pair] for pair in pairs]

    def _best(
        self, pair: tuple[str, str], architecture: Architecture | None
    ) -> FirefoxModel | None:
        """Return the model of a pair: released before others, then by architecture."""
        candidates = [
            one
            for one in self.models
            if (one.source, one.target) == pair
            and one.architecture in ((architecture,) if architecture else ARCHITECTURES)
        ]
        order: Sequence[str] = ARCHITECTURES
        return min(
            candidates,
            key=lambda one: (not one.is_released, order.index(one.architecture)),
            default=None,
        )

    def update_of(self, origin: Origin) -> FirefoxModel | None:
        """Return a model that is newer than a fetched one, or of a better architecture."""
        for pair in dict.fromkeys((one.source, one.target) for one in self.models):
            if origin.repository.rpartition("/")[0] != PREFIX + "-".join(pair):
                continue
            for architecture in (*ARCHITECTURES, None):
                best = self._best(pair, architecture)
                is_alike = architecture is None or (best and best.name == origin.repository)
                if best and is_alike and (best.name, best.revision) != _identity(origin):
                    return best
        return None

    def _pair(self, requested: str, found: dict[tuple[str, str], FirefoxModel]) -> tuple[str, str]:
        parts = requested.replace("_", "-").split("-")
        for at in range(1, len(parts)):
            source, target = ("-".join(half) for half in (parts[:at], parts[at:]))
            for pair in found:
                if _means(source, pair[0]) and _means(target, pair[1]):
                    return pair
        offered = ", ".join(sorted("-".join(pair) for pair in found)) or "none"
        raise PullError(
            f"{PREFIX}{requested}: no such model; name a pair, languages such as en,fr,de, or all. "
            f"There are: {offered}"
        )

    def _connecting(
        self, codes: Sequence[str], found: dict[tuple[str, str], FirefoxModel]
    ) -> list[tuple[str, str]]:
        offered = sorted({code for pair in found for code in pair})
        languages = {PIVOT}
        for code in codes:
            meant = [one for one in offered if _means(code, one)]
            if not meant:
                raise PullError(
                    f"{code}: no model of that language; there are: {', '.join(offered)}"
                )
            languages |= set(meant)
        return [pair for pair in found if set(pair) <= languages]


def _identity(origin: Origin) -> tuple[str, str | None]:
    return origin.repository, origin.revision


def _means(requested: str, code: str) -> bool:
    return canonical_code(code) in requested_codes(requested)


def _codes(requested: str) -> list[str]:
    return [code.strip() for code in requested.split(",") if code.strip()]


def server_of(registry: str) -> FileServer:
    """Return the server of a registry's address; a folder needs no requests to it."""
    return FileServer(registry if "://" in registry else PUBLIC_REGISTRY)


def read_registry(server: FileServer, registry: str) -> Registry:
    """Read the list of a registry: a URL, a file, or a folder with models.json.

    Raises `PullError`.
    """

    def parse(values: Any) -> _List:
        is_records = isinstance(values, dict) and "data" in values
        return _List.model_validate(remote_settings.as_list(values) if is_records else values)

    called = "a registry of Firefox's models"
    registry, found = read_list(server, registry, "models.json", called, parse)
    is_public = registry == PUBLIC_REGISTRY or registry.startswith(remote_settings.SERVICE)
    base = found.base_url if is_public else _base_of(registry)
    return Registry(base, [one for listed in found.models.values() for one in listed])


def _base_of(registry: str) -> str:
    """Return where the files of a mirror are: beside its list, or beside the folder `db` of it."""
    if "://" in registry:
        return urljoin(registry, ".." if registry.endswith("/db/models.json") else ".")
    folder = Path(registry).parent
    return str(folder.parent if folder.name == "db" else folder)
