"""The index of Argos Translate's packages: index.json, a list of their metadata and addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from app.errors import PullError
from app.hub.download import PART, Report, fetch_file
from app.hub.requests import FileServer, MissingError, is_url, read_list

PREFIX = "argos:"
PUBLIC_INDEX = "https://raw.githubusercontent.com/argosopentech/argospm-index/main/"
"""argostranslate's own default, which $ARGOS_PACKAGE_INDEX overrides here as well."""

PIVOT = "en"
_INDEX_FILE = "index.json"
_MAX_PACKAGE_BYTES = 2_000_000_000
_SAFE = re.compile(r"[A-Za-z0-9._-]{1,20}")


class ArgosPackage(BaseModel):
    """An entry of the index; other keys are ignored."""

    type: str = "translate"
    from_code: str = ""
    to_code: str = ""
    package_version: str = ""
    links: list[str] = []

    @property
    def name(self) -> str:
        """The name of the model on the shelf."""
        return f"argos-{self.from_code}-{self.to_code}"

    @property
    def _key(self) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", self.package_version)[:4])

    def is_newer(self, other: ArgosPackage) -> bool:
        """Whether its version is a later one."""
        return self._key > other._key


def read_index(server: FileServer, address: str) -> Sequence[ArgosPackage]:
    """Read the index at a URL, or in a folder. Raises `PullError`."""
    if is_url(address) and not address.endswith(".json"):
        address = f"{address.rstrip('/')}/{_INDEX_FILE}"
    parse = TypeAdapter(list[ArgosPackage]).validate_python
    return read_list(server, address, _INDEX_FILE, "an index of Argos's packages", parse)[1]


def choose_packages(index: Sequence[ArgosPackage], name: str) -> list[ArgosPackage]:
    """Return the newest package of each pair that a name asks for.

    `argos:en-fr` is one pair, `argos:fr,de` all between these languages and English, and
    `argos:all` every one. Raises `PullError`.
    """
    newest: dict[tuple[str, str], ArgosPackage] = {}
    for one in index:
        if one.type != "translate" or not all(
            map(_SAFE.fullmatch, (one.from_code, one.to_code, one.package_version))
        ):
            continue
        pair = one.from_code, one.to_code
        if pair not in newest or one.is_newer(newest[pair]):
            newest[pair] = one
    requested = name.removeprefix(PREFIX)
    source, dash, target = requested.partition("-")
    if requested == "all":
        chosen = list(newest.values())
    elif dash:
        chosen = [newest[pair] for pair in [(source, target)] if pair in newest]
    else:
        codes = {*filter(None, requested.split(",")), PIVOT}
        chosen = [one for pair, one in newest.items() if codes.issuperset(pair) and PIVOT in pair]
    if not chosen:
        known = ", ".join(sorted(f"{source}-{target}" for source, target in newest)) or "none"
        raise PullError(f"{name}: no such package of Argos Translate; there are: {known[:600]}")
    return chosen


def fetch_package(server: FileServer, package: ArgosPackage, folder: Path, report: Report) -> Path:
    """Download a package into `folder`; an interrupted download is resumed.

    The index has neither sizes nor digests: the archive's own checksums are verified when it is
    unpacked. Raises `PullError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{package.name}-{package.package_version}.argosmodel"
    part = path.with_name(path.name + PART)
    for link in package.links:
        if is_url(link):
            with suppress(MissingError):
                fetch_file(server, link, part, report, _MAX_PACKAGE_BYTES)
                return part.rename(path)
    raise PullError(f"{package.name}: none of its addresses has it: {', '.join(package.links)}")
