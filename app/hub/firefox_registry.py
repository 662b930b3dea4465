"""The registry of Firefox's translation models: its list, the choice of models, their files.

The registry is one JSON document, `models.json`: for each pair of languages the models that there
are, with the paths of their files below `baseUrl`. Files are gzipped. The list has the SHA-256 of
each model as unpacked, and no digest of the other files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.errors import PullError
from app.hub.requests import FileServer

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

_MAX_LIST_BYTES = 20_000_000
_PATH = r"^([\w.-]+/)*(model|vocab|srcvocab|trgvocab)\.[\w.-]+$"
_CODE = r"^[A-Za-z]{2,3}([_-][A-Za-z]{2,8})*$"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class RegistryFile(_Record):
    """A file below the base URL; size and digest, where given, are of the unpacked content."""

    path: str = Field(pattern=_PATH)
    size: int | None = Field(None, alias="uncompressedSize")
    digest: str | None = Field(None, alias="uncompressedHash")

    @property
    def name(self) -> str:
        """The name of the unpacked file."""
        return PurePosixPath(self.path).name.removesuffix(".gz")


class _Files(_Record):
    model: RegistryFile
    vocab: RegistryFile | None = None
    src_vocab: RegistryFile | None = Field(None, alias="srcVocab")
    trg_vocab: RegistryFile | None = Field(None, alias="trgVocab")


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
        """The files to fetch: the vocabularies first, since they are small."""
        parts = self.parts
        vocabularies = [parts.vocab] if parts.vocab else [parts.src_vocab, parts.trg_vocab]
        return [*(file for file in vocabularies if file), parts.model]

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
        asked = name.removeprefix(PREFIX)
        if asked == "all":
            pairs = list(found)
        elif "," in asked:
            pairs = self._connecting(_codes(asked), found)
        else:
            pairs = [self._pair(asked, found)]
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

    def _pair(self, asked: str, found: dict[tuple[str, str], FirefoxModel]) -> tuple[str, str]:
        for pair in found:
            if "-".join(pair).replace("_", "-").lower() == asked.replace("_", "-").lower():
                return pair
        offered = ", ".join(sorted("-".join(pair) for pair in found)) or "none"
        raise PullError(
            f"{PREFIX}{asked}: no such model; name a pair, languages such as en,fr,de, or all. "
            f"There are: {offered}"
        )

    def _connecting(
        self, codes: Sequence[str], found: dict[tuple[str, str], FirefoxModel]
    ) -> list[tuple[str, str]]:
        offered = sorted({code for pair in found for code in pair})
        known = {code.replace("_", "-").lower(): code for code in offered}
        languages = []
        for code in codes:
            if code not in known:
                raise PullError(
                    f"{code}: no model of that language; there are: {', '.join(offered)}"
                )
            languages.append(known[code])
        return [pair for pair in found if set(pair) <= {*languages, PIVOT}]


def _codes(asked: str) -> list[str]:
    return [code.strip().replace("_", "-").lower() for code in asked.split(",") if code.strip()]


def read_registry(server: FileServer, registry: str) -> Registry:
    """Read the list of a registry, a URL or a folder with models.json. Raises `PullError`."""
    if urlsplit(registry).scheme in ("http", "https"):
        content = server.get(registry, "the registry", "", params={}).content
    else:
        path = Path(registry)
        path = path / "models.json" if path.is_dir() else path
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PullError(
                f"{path}: {error.strerror}; expected a registry's models.json"
            ) from None
        registry = str(path)
    try:
        if len(content) > _MAX_LIST_BYTES:
            raise ValueError(f"has {len(content):,} bytes")
        found = _List.model_validate_json(content)
    except (ValidationError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise PullError(f"{registry}: not a registry of Firefox's models: {reason}") from None
    is_public = registry == PUBLIC_REGISTRY
    base = found.base_url if is_public else _base_of(registry)
    return Registry(base, [one for listed in found.models.values() for one in listed])


def _base_of(registry: str) -> str:
    """Return where the files of a mirror are: beside its list, or beside the folder `db` of it."""
    if "://" in registry:
        return urljoin(registry, ".." if registry.endswith("/db/models.json") else ".")
    folder = Path(registry).parent
    return str(folder.parent if folder.name == "db" else folder)
